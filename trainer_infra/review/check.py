"""Objects -> a report: every rule of a pack on every object, with places, exemptions and edits.

Pure. Each environment is judged by itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, TypeVar

from trainer_infra.api.finding import FieldFinding as OfYaml
from trainer_infra.api.finding import Path, path_text
from trainer_infra.json_values import JSONObject
from trainer_infra.review import (
    baseline,
    environments,
    inner_documents,
    object_kinds,
    plain_secret,
    report_item,
)
from trainer_infra.review.documents import Document, value_at
from trainer_infra.review.environments import DocumentEnvironment
from trainer_infra.review.inner_documents import AllDocuments
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
from trainer_infra.rules.subject import Subject, subject_of_part
from trainer_infra.rules.world import World

T = TypeVar("T")
EMPTY: Final = "Environments of the configuration in whose folders nothing is"
PARTS: Final = "Parts of objects in patches, judged only by what they set"
"""The title of how many there are."""
UNREAD: Final = "Texts with objects that cannot be read as YAML, and so were not judged"
_NAME: Final = ("metadata", "name")
_SECURITY: Final = ("pod-security", "supply-chain")
"""Groups of rules without which a check does not pass."""


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
    within: Mapping[int, World]
    """What is around an object that stands in another, by position."""


def check_documents(
    given: Sequence[Document], asked: CheckScope, spread: Spread = one_by_one
) -> Report:
    """The report on the documents, and on the objects that stand in theirs; what goes through them is `one_by_one`, or `processes.spread_work`.

    Raises:
        InvalidInput: The pack's settings name no rule, or do not fit their rule.
    """
    there, whole = tree.subjects_of(asked.others), inner_documents.with_inner_documents(given)
    documents = whole.all
    usual = _Policy.of(asked.settled)
    policies = {name: _Policy.of(each) for name, each in asked.settled.environments.items()}
    inside = tuple(
        _environment(each, whole, asked, (policies.get(each.configured, usual), there))
        for each in environments.environments_of(given, asked.settled.folders)
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
        return _found(documents, position, one, asked, hidden)

    found = tuple(spread(findings, len(work), everywhere))
    items = _of_environments(zip(work, found, strict=True), everywhere)
    items = tuple(_once(items))
    objects = [each for each in subjects.values() if not each.is_part]
    beside = {PARTS: str(len(subjects) - len(objects)), UNREAD: "\n".join(whole.unread)}
    notes = {each: said for each, said in beside.items() if said not in ("", "0")}
    problems = (*asked.problems, *dict.fromkeys(each for one in found for each in one.problems))
    return Report(
        items=baseline.with_known(items, asked.baseline),
        rules=everywhere,
        objects=len(objects),
        unjudged=Counter(map(hidden.text, sorted(_unjudged(objects, everywhere)))),
        files=tuple(dict.fromkeys(documents[each].file for each in sorted(subjects))),
        problems=tuple(map(hidden.sentence, problems)),
        unused=() if left else tuple(map(hidden.text, _unused(inside, found, asked.today))),
        unseen=tuple(dict.fromkeys(each for one in found for each in one.unseen)),
        fail_on=asked.fail_on,
        notes=_empty_environments(inside, asked.settled) | notes,
    )


def _once(items: Sequence[Item]) -> Iterator[Item]:
    """The findings, without secrets that are told of an object that stands in this one."""
    inner = {(each.rule.id, each.place) for each in items if each.inside}
    for each in items:
        is_told = each.rule is literal_secrets.RULE and (each.rule.id, each.place) in inner
        if each.inside or not is_told:
            yield each


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
    whole: AllDocuments,
    asked: CheckScope,
    known: tuple[_Policy, Sequence[Subject]],
) -> _Environment:
    """What is judged together; `known` is what holds there, and what a cluster has."""
    policy, there = known
    settled = policy.settled
    own = [each for each in given.positions if asked.is_judged.get(each, True)]
    left = [each for each in given.positions if not asked.is_judged.get(each, True)]
    judged, parts = whole.with_inner(own)
    values, others = ([whole.all[each].value for each in these] for these in (judged, left))
    around_them = [*asked.others, *others]
    subjects, beside = (tree.subjects_of(each, around_them) for each in (values, others))
    found = dict(zip(judged, subjects, strict=True))
    renamed = dict(filter(None, (_new_name(whole.all[each]) for each in given.positions)))

    def world_with(deployed: Iterable[Subject]) -> World:
        ours = (*beside, *(found[each] for each in own))
        is_whole = settled.is_whole
        return world.world_of(
            ours, settled.pools, is_whole=is_whole, deployed=deployed, renamed=renamed
        )

    within = whole.worlds_within(own, found, lambda more: world_with((*there, *more)))
    found |= {each: subject_of_part(whole.all[each].value) for each in parts}
    by_position = (found, dict(zip(left, beside, strict=True)), within)
    return _Environment(given.name, given.configured, policy, world_with(there), *by_position)


def _new_name(document: Document) -> tuple[tuple[str, str, str], str] | None:
    """What a tool calls an object, by its kind, namespace and the name in its file; None where that stays."""
    _, kind, namespace, name = environments.object_key(document.value)
    written = document.written
    if written is document.value or not isinstance(written, Mapping):
        return None
    # A generator has the name in a field of its own.
    named = value_at(written, ("metadata", "name") if "kind" in written else ("name",))
    is_other = isinstance(named, str) and name not in ("", named)
    return ((kind, namespace, named), name) if is_other else None


def _of_environments(
    found: Iterable[tuple[tuple[_Environment, int], _ObjectFindings]], rules: Sequence[AnyRule]
) -> tuple[Item, ...]:
    """All findings once, in the order in which a reader of the files meets them.

    What is not so in every environment of its object says in which.
    """
    by_position: dict[int, list[tuple[str, tuple[Item, ...]]]] = {}
    for (one, position), each in found:
        by_position.setdefault(position, []).append((one.name, each.items))
    items = [item for each in by_position.values() for item in _merged(each)]
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


def _unjudged(subjects: Iterable[Subject], rules: Iterable[AnyRule]) -> Iterator[str]:
    kinds = {kind for each in rules for kind in each.kinds} | {plain_secret.KIND}
    return (each.kind for each in subjects if each.kind not in kinds)


def _found(
    documents: Sequence[Document],
    position: int,
    one: _Environment,
    asked: CheckScope,
    hidden: ReportRedaction,
) -> _ObjectFindings:
    document, subject = documents[position], one.judged[position]
    own = exemption.annotated_exemptions(subject)
    annotated = (*own.exemptions, *_annotated_around(document))
    book = ExemptionBook(
        subject, annotated, one.policy.settled.exemptions, one.policy.limits, asked.today
    )
    around = one.within.get(position, one.around)
    judged = tuple(judge.judge(subject, around, one.policy.rules, asked.today))
    used: set[Exemption] = set()
    items = []
    of_rules = ((verdict.chosen, each) for verdict in judged for each in verdict.findings)
    for chosen, finding in (*_of_file(document, one.policy.rules), *of_rules):
        excusing = book.excusing(chosen.rule.id, chosen.severity)
        used.update(filter(None, (excusing,)))
        excuse = report_item.excuse_of(excusing, asked.today) if excusing else None
        items.append(report_item.item_of(document, subject, (chosen, finding), excuse, hidden))
    return _ObjectFindings(
        tuple(items),
        tuple(
            map(
                hidden.unseen,
                _unseen(subject, judged, book, asked, is_inner=document.outer is not None),
            )
        ),
        frozenset(used),
        tuple(f"{document.file}: {hidden.problem(each)}" for each in own.problems),
    )


def _annotated_around(document: Document) -> Iterator[Exemption]:
    """Exemptions in the annotations of what an object stands in: who writes that writes this."""
    if document.outer is not None:
        around = subject_of_part(document.outer.value)
        yield from exemption.annotated_exemptions(around).exemptions
        yield from _annotated_around(document.outer)


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


def _unseen(
    subject: Subject,
    judged: Iterable[RuleVerdict],
    book: ExemptionBook,
    asked: CheckScope,
    *,
    is_inner: bool,
) -> Iterator[UnseenRule]:
    """What was not seen. What an object stands in is searched for secrets as it is written, and names it."""
    missed: dict[Path, list[ConfiguredRule]] = {}
    for one in judged:
        for path in one.unseen:
            if not (is_inner and (path == _NAME or one.chosen.rule is literal_secrets.RULE)):
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
