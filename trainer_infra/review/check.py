"""Objects -> a report: every rule of a pack on every object, with places, exemptions and edits.

Pure; called by `cli.check` with what `sources` read.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, TypeVar

from trainer_infra.api.finding import FieldFinding as OfYaml
from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import shown
from trainer_infra.json_values import JSONObject
from trainer_infra.review import edits, object_kinds, plain_secret, written_place
from trainer_infra.review.documents import Document
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import Excuse, Item, Place, Report, UnseenRule, object_name
from trainer_infra.rules import exemption, judge, pack, tree, world
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.exemption import Exemption, State
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict
from trainer_infra.rules.pack import PackRule
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.shape import schema
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.world import World

T = TypeVar("T")
_SECURITY: Final = ("pod-security", "supply-chain")
"""Groups of rules without which a check does not pass."""
_SHOWN: Final = 120
"""Characters of a value in a report."""
MOST_LINES: Final = 5
"""Lines of an excerpt."""
DIGITS: Final = 16
_JSON: Final = json.JSONEncoder(default=str)


@dataclass(frozen=True, slots=True)
class CheckScope:
    """What is to be checked, beside the documents."""

    settled: ResolvedConfiguration
    """Pack, pools and exemptions."""
    today: date
    """The day that exemptions are judged on."""
    fail_on: Severity = Severity.HIGH
    """Severity from which on a finding fails the check."""
    baseline: frozenset[str] = frozenset()
    """Fingerprints of findings that are known."""
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


def check_documents(
    documents: Sequence[Document], asked: CheckScope, spread: Spread = one_by_one
) -> Report:
    """The report on the documents.

    Args:
        documents: What is checked.
        asked: How.
        spread: What goes through the documents: one after the other, or `processes.spread_work`.

    Raises:
        InvalidInput: The pack's settings name no rule, or do not fit their rule.
    """
    rules = pack.pack_rules(asked.settled.pack)
    judged = [each for index, each in enumerate(documents) if asked.is_judged.get(index, True)]
    left = [each for index, each in enumerate(documents) if not asked.is_judged.get(index, True)]
    others = [*asked.others, *(each.value for each in left)]
    subjects, beside = (
        tree.subjects_of([each.value for each in judged], others),
        tree.subjects_of(others),
    )
    around = world.world_of(
        (*beside, *subjects), asked.settled.pools, is_whole=asked.settled.is_whole
    )
    pairs = tuple(zip(judged, subjects, strict=True))
    unjudged = zip(left, beside[len(asked.others) :], strict=True)
    redaction = ReportRedaction.of((*pairs, *unjudged), beside)
    known = _Knowledge(rules, around, redaction, asked)
    everywhere = tuple(each.rule for each in rules)
    found = tuple(spread(lambda index: _found(*pairs[index], known), len(pairs), everywhere))
    used = frozenset(each for one in found for each in one.used)
    unused = () if left else _unused(asked, used)
    return Report(
        items=tuple(sorted((each for one in found for each in one.items), key=_order(rules))),
        rules=everywhere,
        objects=len(found),
        unjudged=Counter(map(redaction.text, sorted(_unjudged(subjects, rules)))),
        files=tuple(dict.fromkeys(each.file for each in judged)),
        problems=tuple(map(redaction.sentence, _problems(asked, found))),
        unused=tuple(map(redaction.text, unused)),
        unseen=tuple(each for one in found for each in one.unseen),
        fail_on=asked.fail_on,
    )


def _unjudged(subjects: Iterable[Subject], rules: Iterable[PackRule]) -> Iterator[str]:
    kinds = {kind for each in rules for kind in each.rule.kinds} | {plain_secret.KIND}
    return (each.kind for each in subjects if each.kind not in kinds)


def _problems(asked: CheckScope, found: Iterable[_ObjectFindings]) -> Iterator[str]:
    yield from asked.problems
    yield from (each for one in found for each in one.problems)


@dataclass(frozen=True, slots=True)
class _Knowledge:
    """What is the same for all objects."""

    rules: tuple[PackRule, ...]
    around: World
    redaction: ReportRedaction
    asked: CheckScope


def _found(document: Document, subject: Subject, known: _Knowledge) -> _ObjectFindings:
    own = exemption.annotated_exemptions(subject)
    exemptions = (*own.exemptions, *known.asked.settled.exemptions)
    today = known.asked.today

    def excusing(rule: str) -> Exemption | None:
        return exemption.excusing_exemption(exemptions, rule, subject, today)

    def is_excused(rule: str) -> bool:
        found = excusing(rule)
        return found is not None and found.state(today) != State.EXPIRED

    judged = tuple(judge.judge(subject, known.around, known.rules))
    used: set[Exemption] = set()
    items = []
    for chosen, finding in (*_of_file(document, known), *_of_rules(judged)):
        excuse = excusing(chosen.rule.id)
        used.update(filter(None, (excuse,)))
        items.append(_item(document, subject, (chosen, finding, excuse), known))
    return _ObjectFindings(
        tuple(items),
        tuple(map(known.redaction.unseen, _unseen(subject, judged, is_excused, known.asked))),
        frozenset(used),
        tuple(f"{document.file}: {known.redaction.problem(each)}" for each in own.problems),
    )


def _of_file(document: Document, known: _Knowledge) -> Iterator[tuple[ConfiguredRule, OfYaml]]:
    """What is wrong with it because it stands in a file, which two of the rules speak for."""
    for chosen in known.rules:
        if chosen.rule.id == schema.RULE.id:
            of_kind = object_kinds.kind_findings(document.value)
            yield from ((chosen, each) for each in (*document.findings(), *of_kind))
        elif chosen.rule.id == literal_secrets.RULE.id:
            yield from ((chosen, each) for each in plain_secret.plain_secret_findings(document))


def _of_rules(judged: Iterable[RuleVerdict]) -> Iterator[tuple[ConfiguredRule, OfYaml]]:
    return ((one.chosen, each) for one in judged for each in one.findings)


def _unseen(
    subject: Subject,
    judged: Iterable[RuleVerdict],
    is_excused: Callable[[str], bool],
    asked: CheckScope,
) -> Iterator[UnseenRule]:
    missed: dict[Path, list[ConfiguredRule]] = {}
    for one in judged:
        for path in one.unseen:
            missed.setdefault(path, []).append(one.chosen)
    for path, rules in missed.items():
        # Whether a runtime that is not at hand may be so says runtime-exists.
        fails = path in subject.left_out and path != REFERENCE
        fails = fails and any(
            each.rule.tags[0] in _SECURITY
            and pack.is_at_least(each.severity, asked.fail_on)
            and not is_excused(each.rule.id)
            for each in rules
        )
        ids = tuple(each.rule.id for each in rules)
        whose = (subject.kind, subject.namespace, subject.name)
        yield UnseenRule(*whose, path_text(path), ids, fails)


def _item(
    document: Document,
    subject: Subject,
    found: tuple[ConfiguredRule, OfYaml, Exemption | None],
    known: _Knowledge,
) -> Item:
    chosen, finding, excusing = found
    hidden = known.redaction
    mark = fingerprint(chosen.rule.id, document.value, finding.path, finding.what)
    of_rule = finding if isinstance(finding, Finding) else Finding(finding.path, finding.what)
    item = Item(
        rule=chosen.rule,
        severity=chosen.severity,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        path=path_text(finding.path),
        what=finding.what,
        got="" if finding.got is None else shown(hidden.value(finding.got), _SHOWN),
        fix=finding.fix,
        seen_at=of_rule.seen_at,
        runtime=_runtime(document) if of_rule.inherited else "",
        place=place_in_document(document, finding.path),
        fingerprint=mark,
        edits=edits.edits(document, of_rule.patch),
        excuse=_excuse(excusing, known.asked.today) if excusing else None,
        is_known=mark in known.asked.baseline,
    )
    return hidden.item(item)


def _runtime(document: Document) -> str:
    reference = tree.runtime_reference(document.value)
    return object_name(*reference) if reference else ""


def _excuse(excusing: Exemption, today: date) -> Excuse:
    expired = excusing.state(today) == State.EXPIRED
    return Excuse(excusing.owner, excusing.reason, excusing.expires, expired)


def _order(rules: Iterable[PackRule]) -> Callable[[Item], tuple[str, int, int, int]]:
    """Findings in the order in which a reader of the files meets them."""
    places = {each.rule.id: index for index, each in enumerate(rules)}
    return lambda item: (item.place.file, item.place.line, item.place.column, places[item.rule.id])


def _unused(asked: CheckScope, used: frozenset[Exemption]) -> Iterator[str]:
    for each in asked.settled.exemptions:
        if each not in used:
            whose = f"{each.kind} {each.namespace}/{each.name}"
            yield f"{each.owner}'s exemption from {each.rule} for {whose} excuses nothing"


def place_in_document(document: Document, path: Path) -> Place:
    """Where what stands at a path, or what is nearest above it, is written."""
    text, whole = written_place.written_place(document, path)
    if text.source is None:
        return Place(text.file)
    line, column = text.place(whole)
    end_line, end_column = text.end(whole)
    shown = text.lines[line - 1 : min(end_line, line - 1 + MOST_LINES)]
    return Place(text.file, line, column, end_line, end_column, shown or ("",))


def fingerprint(rule: str, value: Mapping[str, Any], path: Path, what: str) -> str:
    """16 hex digits by which baselines and SARIF know a finding when its file is edited elsewhere.

    They are of rule, object, place and clause; positions in lists are names where they can be.
    """
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    whose = [value.get("kind"), named.get("namespace"), named.get("name")]
    place: list[str] = []
    at: Any = value
    for key in path:
        if isinstance(key, int):
            at = at[key] if isinstance(at, list) and key < len(at) else None
            name = at.get("name") if isinstance(at, Mapping) else None
            place.append(f"[{name if name is not None else key}]")
        else:
            at = at.get(key) if isinstance(at, Mapping) else None
            place.append(str(key))
    text = _JSON.encode([rule, whose, place, what])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
