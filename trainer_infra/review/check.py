"""Objects -> a report: every rule of a pack on every object, with places, exemptions and edits.

Pure. Each environment is judged by itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, TypeVar

from trainer_infra.api.finding import FieldFinding as OfYaml
from trainer_infra.api.finding import Path, path_text
from trainer_infra.json_values import JSONObject
from trainer_infra.review import baseline, environments, object_kinds, plain_secret, report_item
from trainer_infra.review.documents import Document
from trainer_infra.review.environments import DocumentEnvironment
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import Item, Report, UnseenRule
from trainer_infra.rules import exemption, judge, pack, tree, world
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.exemption import Exemption, ExemptionBook, ExemptionLimits, State
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict
from trainer_infra.rules.pack import PackRule
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.shape import schema
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.supply_chain import images
from trainer_infra.rules.world import World

T = TypeVar("T")
EMPTY: Final = "Environments of the configuration in whose folders nothing is"
_SECURITY: Final = ("pod-security", "supply-chain")
"""Groups of rules without which a check does not pass."""
_FORMS: Final = ("shape", "admission")
"""Groups of rules about the form of values."""
_PLAIN: Final = frozenset(
    (
        *("name", "namespace", "image", "limits", "requests", "nominalQuota", "storage"),
        *("numNodes", "numProcPerNode", "replicas", "parallelism", "completions", "backoffLimit"),
    )
)
"""Fields, or those above them, whose values people have filled in."""
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_]\w*([:=?+-].*)?\}|^\$[A-Za-z_]\w*$")


@dataclass(frozen=True, slots=True)
class CheckScope:
    """What is to be checked, beside the documents."""

    settled: ResolvedConfiguration
    """Pack, pools and exemptions, and those of environments that have folders."""
    today: date
    """The day that exemptions are judged on."""
    fail_on: Severity = Severity.HIGH
    """Severity from which on a finding fails the check."""
    baseline: tuple[Mark, ...] = ()
    """Findings that are known."""
    others: Sequence[JSONObject] = ()
    """Objects that are there beside those that are checked: those of a cluster."""
    problems: tuple[str, ...] = ()
    """What could not be read."""
    is_judged: Mapping[int, bool] = field(default_factory=dict)
    """Documents, by position, that are left out because they did not change: False."""


@dataclass(frozen=True, slots=True)
class _ObjectFindings:
    """What was found in one object."""

    items: tuple[Item, ...]
    unseen: tuple[UnseenRule, ...]
    used: frozenset[Exemption]
    problems: tuple[str, ...]


Spread = Callable[
    [Callable[[int], _ObjectFindings], int, Sequence[object]], Iterable[_ObjectFindings]
]
"""Does work on each number below a count, in order; the last is what stands in many results."""


def one_by_one(work: Callable[[int], T], count: int, _known: Sequence[object]) -> Iterator[T]:
    """The work done on each number below `count`, in order."""
    return map(work, range(count))


@dataclass(frozen=True, slots=True)
class _Policy:
    """What holds in environments that are configured alike."""

    settled: ResolvedConfiguration
    rules: tuple[PackRule, ...]
    limits: ExemptionLimits

    @classmethod
    def of(cls, settled: ResolvedConfiguration) -> "_Policy":
        rules = pack.pack_rules(settled.pack)
        return cls(settled, rules, exemption.exemption_limits(rules))


@dataclass(frozen=True, slots=True)
class _Environment:
    """What is judged together."""

    name: str
    configured: str
    """Name in the configuration; may be empty."""
    policy: _Policy
    around: World
    judged: Mapping[int, Subject]
    """By position of the document."""
    left: Mapping[int, Subject]
    """What did not change."""


def check_documents(
    documents: Sequence[Document], asked: CheckScope, spread: Spread = one_by_one
) -> Report:
    """The report on the documents; what goes through them is `one_by_one`, or `processes.spread_work`.

    Raises:
        InvalidInput: The pack's settings name no rule, or do not fit their rule.
    """
    there = tree.subjects_of(asked.others)
    usual = _Policy.of(asked.settled)
    policies = {name: _Policy.of(each) for name, each in asked.settled.environments.items()}
    inside = tuple(
        _environment(each, documents, asked, (policies.get(each.configured, usual), there))
        for each in environments.environments_of(documents, asked.settled.folders)
    )
    subjects = {position: each for one in inside for position, each in one.judged.items()}
    left = [(documents[index], each) for one in inside for index, each in one.left.items()]
    pairs = ((documents[index], each) for index, each in subjects.items())
    hidden = ReportRedaction.of((*pairs, *left), there)
    work = [(one, position) for one in inside for position in one.judged]
    everywhere = tuple(
        dict.fromkeys(each.rule for one in (usual, *policies.values()) for each in one.rules)
    )

    def findings(index: int) -> _ObjectFindings:
        one, position = work[index]
        return _found(documents[position], one.judged[position], one, asked, hidden)

    found = tuple(spread(findings, len(work), everywhere))
    items = _of_environments(zip(work, found, strict=True), everywhere, documents)
    problems = (*asked.problems, *dict.fromkeys(each for one in found for each in one.problems))
    return Report(
        items=baseline.with_known(items, asked.baseline),
        rules=everywhere,
        objects=len(subjects),
        unjudged=Counter(map(hidden.text, sorted(_unjudged(subjects.values(), everywhere)))),
        files=tuple(dict.fromkeys(documents[each].file for each in sorted(subjects))),
        problems=tuple(map(hidden.sentence, problems)),
        unused=() if left else tuple(map(hidden.text, _unused(inside, found, asked.today))),
        unseen=tuple(dict.fromkeys(each for one in found for each in one.unseen)),
        fail_on=asked.fail_on,
        notes=_empty_environments(inside, asked.settled),
    )


def _empty_environments(
    inside: Iterable[_Environment], settled: ResolvedConfiguration
) -> dict[str, str]:
    """Configured environments whose folders have nothing: what is set for them judges nothing."""
    found = {each.configured for each in inside}
    empty = [
        f"{name}: {', '.join(settled.folders[name])}"
        for name in settled.environments
        if name not in found
    ]
    return {EMPTY: "\n".join(empty)} if empty else {}


def _environment(
    given: DocumentEnvironment,
    documents: Sequence[Document],
    asked: CheckScope,
    known: tuple[_Policy, Sequence[Subject]],
) -> _Environment:
    """What is judged together; `known` is what holds there, and what a cluster has."""
    policy, there = known
    settled = policy.settled
    judged = [each for each in given.positions if asked.is_judged.get(each, True)]
    left = [each for each in given.positions if not asked.is_judged.get(each, True)]
    values, others = ([documents[each].value for each in these] for these in (judged, left))
    around_them = [*asked.others, *others]
    subjects, beside = (tree.subjects_of(each, around_them) for each in (values, others))
    around = world.world_of(
        (*beside, *subjects), settled.pools, is_whole=settled.is_whole, deployed=there
    )
    by_position = (dict(zip(judged, subjects, strict=True)), dict(zip(left, beside, strict=True)))
    return _Environment(given.name, given.configured, policy, around, *by_position)


def _of_environments(
    found: Iterable[tuple[tuple[_Environment, int], _ObjectFindings]],
    rules: Sequence[AnyRule],
    documents: Sequence[Document],
) -> tuple[Item, ...]:
    """All findings once, in the order in which a reader of the files meets them.

    What is not so in every environment of its object says in which.
    """
    by_position: dict[int, list[tuple[str, tuple[Item, ...]]]] = {}
    for (one, position), each in found:
        by_position.setdefault(position, []).append((one.name, each.items))
    merged = ((documents[at], item) for at, each in by_position.items() for item in _merged(each))
    items = _of_renderings(merged, documents)
    places = {each.id: index for index, each in enumerate(rules)}

    def order(item: Item) -> tuple[str, int, int, int]:
        return item.place.file, item.place.line, item.place.column, places[item.rule.id]

    return tuple(sorted(items, key=order))


def _merged(found: Sequence[tuple[str, tuple[Item, ...]]]) -> Iterator[Item]:
    """The findings of one object in its environments, each once."""
    if len(found) == 1:
        yield from found[0][1]
        return
    holds: dict[Item, list[str]] = {}
    for name, items in found:
        for item in items:
            holds.setdefault(item, []).append(name)
    for item, names in holds.items():
        is_so_in_all = len(names) == len(found)
        yield item if is_so_in_all else replace(item, what=f"{item.what}, in {' and '.join(names)}")


def _of_renderings(
    found: Iterable[tuple[Document, Item]], documents: Iterable[Document]
) -> Iterator[Item]:
    """Findings of a chart's template once for all renderings; what only some have says which."""
    ways: dict[str, set[str]] = {}
    for each in documents:
        for folder in each.folders if each.renderings else ():
            ways.setdefault(folder, set()).update(each.renderings)
    counts: Counter[tuple[object, ...]] = Counter()
    holds: dict[tuple[object, ...], tuple[Item, list[str]]] = {}
    for document, item in found:
        if not document.renderings:
            yield item
            continue
        said = (
            item.rule.id,
            item.severity,
            item.place,
            item.path,
            item.what,
            item.got,
            item.excuse,
        )
        # A loop in a template makes several objects, in each rendering.
        nth = max(counts[each, said] for each in document.renderings)
        counts.update({(each, said): nth + 1 - counts[each, said] for each in document.renderings})
        _, names = holds.setdefault((nth, *said), (item, []))
        names += document.renderings
    for item, names in holds.values():
        is_so_in_all = set(names) == ways[item.folders[0]]
        yield item if is_so_in_all else replace(item, what=f"{item.what}, with {', '.join(names)}")


def _unjudged(subjects: Iterable[Subject], rules: Iterable[AnyRule]) -> Iterator[str]:
    kinds = {kind for each in rules for kind in each.kinds} | {plain_secret.KIND}
    return (each.kind for each in subjects if each.kind not in kinds)


def _found(
    document: Document,
    subject: Subject,
    one: _Environment,
    asked: CheckScope,
    hidden: ReportRedaction,
) -> _ObjectFindings:
    own = exemption.annotated_exemptions(subject)
    book = ExemptionBook(
        subject, own.exemptions, one.policy.settled.exemptions, one.policy.limits, asked.today
    )
    judged = tuple(judge.judge(subject, one.around, one.policy.rules, asked.today))
    used: set[Exemption] = set()
    items = []
    later: dict[Path, list[ConfiguredRule]] = {}
    of_rules = ((verdict.chosen, each) for verdict in judged for each in verdict.findings)
    for chosen, finding in (*_of_file(document, one.policy.rules), *of_rules):
        if _is_filled_in_later(chosen, finding):
            later.setdefault(finding.path, []).append(chosen)
            continue
        excusing = book.excusing(chosen.rule.id, chosen.severity)
        used.update(filter(None, (excusing,)))
        excuse = report_item.excuse_of(excusing, asked.today) if excusing else None
        items.append(report_item.item_of(document, subject, (chosen, finding), excuse, hidden))
    return _ObjectFindings(
        tuple(items),
        tuple(map(hidden.unseen, _unseen(subject, judged, later, book, asked))),
        frozenset(used),
        tuple(f"{document.file}: {hidden.problem(each)}" for each in own.problems),
    )


def _of_file(
    document: Document, rules: Iterable[PackRule]
) -> Iterator[tuple[ConfiguredRule, OfYaml]]:
    """What is wrong with it because it stands in a file, which two of the rules speak for."""
    for chosen in rules:
        if chosen.rule.id == schema.SCHEMA.id:
            of_kind = object_kinds.kind_findings(document.value)
            yield from ((chosen, each) for each in (*document.findings(), *of_kind))
        elif chosen.rule.id == literal_secrets.RULE.id:
            yield from ((chosen, each) for each in plain_secret.plain_secret_findings(document))


def _is_filled_in_later(chosen: ConfiguredRule, finding: OfYaml) -> bool:
    """Whether the form of a value is wrong because envsubst or Flux is to write it: `${IMAGE}`, `$NODES`.

    What decides over rights is not let pass as `${PRIVILEGED}`.
    """
    is_of_form = chosen.rule.tags[0] in _FORMS or chosen.rule.id == images.IMAGE_NAME.id
    is_plain = bool(_PLAIN.intersection(map(str, finding.path[-2:])))
    is_variable = isinstance(finding.got, str) and _VARIABLE.search(finding.got)
    return bool(is_of_form and is_plain and is_variable)


def _unseen(
    subject: Subject,
    judged: Iterable[RuleVerdict],
    later: Mapping[Path, Sequence[ConfiguredRule]],
    book: ExemptionBook,
    asked: CheckScope,
) -> Iterator[UnseenRule]:
    missed = {path: [*rules] for path, rules in later.items()}
    for one in judged:
        for path in one.unseen:
            missed.setdefault(path, []).append(one.chosen)
    for path, rules in missed.items():
        # Whether a runtime that is not at hand may be so says runtime-exists.
        fails = path in subject.left_out and path != REFERENCE
        fails = fails and any(
            each.rule.tags[0] in _SECURITY
            and each.severity.is_at_least(asked.fail_on)
            and not _is_excused(each, book)
            for each in rules
        )
        ids = tuple(each.rule.id for each in rules)
        whose = (subject.kind, subject.namespace, subject.name)
        yield UnseenRule(*whose, path_text(path), ids, fails)


def _is_excused(chosen: ConfiguredRule, book: ExemptionBook) -> bool:
    found = book.excusing(chosen.rule.id, chosen.severity)
    return found is not None and found.state(book.today) != State.EXPIRED


def _unused(
    inside: Iterable[_Environment], found: Iterable[_ObjectFindings], today: date
) -> Iterator[str]:
    """What excuses nothing, or no more."""
    used = {each for one in found for each in one.used}
    for each in dict.fromkeys(each for one in inside for each in one.policy.settled.exemptions):
        whose = f"{each.kind} {each.namespace}/{each.name}"
        if each.state(today) == State.EXPIRED:
            yield f"{each.owner}'s exemption from {each.rule} for {whose} expired on {each.expires}"
        elif each not in used:
            yield f"{each.owner}'s exemption from {each.rule} for {whose} excuses nothing"
