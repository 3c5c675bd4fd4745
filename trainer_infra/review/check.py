"""Objects -> a report: every rule of a pack on every object, with places, exemptions and edits.

Pure. Each environment is judged by itself; `object_findings` judges one object of it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum, auto
from functools import partial
from operator import attrgetter
from typing import Final, TypeVar

from trainer_infra.json_values import JSONObject
from trainer_infra.review import (
    baseline,
    environments,
    inner_documents,
    object_findings,
    plain_secret,
)
from trainer_infra.review.documents import Document
from trainer_infra.review.environments import DocumentEnvironment
from trainer_infra.review.inner_documents import AllDocuments
from trainer_infra.review.object_findings import ObjectFindings, ObjectScope
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import Item, Report
from trainer_infra.rules import exemption, pack, tree, world
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.exemption import ExemptionLimits, State
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.pack import PackRule
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.subject import Subject, subject_of_part
from trainer_infra.rules.world import World

T = TypeVar("T")
EMPTY: Final = "Environments of the configuration whose folders have no object"
PARTS: Final = "Parts of objects in patches, judged only by what they set"
"""The title of how many there are."""
UNREAD: Final = "Texts with objects that cannot be read as YAML, and so were not judged"


class Reach(Enum):
    """How far the change from another revision reaches an object."""

    CHANGED = auto()
    """It differs itself, or is new."""
    RUNTIME = auto()
    """The runtime differs that it runs on: every rule may say something else of it."""
    AROUND = auto()
    """Others may differ that rules look at when they judge it."""
    GONE = auto()
    """It is there, and is not judged: of another revision, where it is another one now."""


_SAID: Final = attrgetter(
    *("rule.id", "severity", "place", "path", "what", "got", "excuse", "is_unchanged")
)
"""What a finding says, whichever of a chart's renderings it is of."""
_TOLD: Final = (Reach.CHANGED, Reach.RUNTIME)
"""Of what a report says how many there are."""


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
    reach: Mapping[int, Reach] = field(default_factory=dict)
    """How far a change reaches documents, by position; those that are not in it are judged whole."""

    def reach_of(self, position: int) -> Reach:
        """How far it reaches a document."""
        return self.reach.get(position, Reach.CHANGED)


Spread = Callable[
    [Callable[[int], ObjectFindings], int, Sequence[object]], Iterable[ObjectFindings]
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
    looking: tuple[PackRule, ...]
    """Those of them that look at other objects too."""
    of_file: tuple[PackRule, ...]
    """Those of them that speak for what stands in files."""
    limits: ExemptionLimits

    @classmethod
    def of(cls, settled: ResolvedConfiguration) -> "_Policy":
        rules = pack.pack_rules(settled.pack)
        looking = tuple(each for each in rules if each.rule.looks_around)
        of_file = tuple(each for each in rules if each.rule.id in object_findings.OF_FILE)
        return cls(settled, rules, looking, of_file, exemption.exemption_limits(rules))


@dataclass(frozen=True, slots=True)
class _Environment:
    """What is judged together."""

    name: str
    configured: str
    """Name in the configuration; may be empty."""
    policy: _Policy
    around: World
    judged: Mapping[int, Subject]
    """By position of the document; what did not change comes behind what did, and parts last."""
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
    # A change reaches what stands in an object as far as it reaches that.
    asked = replace(asked, reach=whole.of_inner(asked.reach))
    usual = _Policy.of(asked.settled)
    policies = {name: _Policy.of(each) for name, each in asked.settled.environments.items()}
    inside = tuple(
        _environment(each, whole, asked, (policies.get(each.configured, usual), there))
        for each in environments.environments_of(given, asked.settled.folders, asked.settled.root)
    )
    subjects = {position: each for one in inside for position, each in one.judged.items()}
    pairs = ((documents[index], each) for index, each in subjects.items())
    hidden = ReportRedaction.of(pairs, there)
    work = [
        (one, position)
        for one in inside
        for position in one.judged
        if asked.reach_of(position) != Reach.GONE
    ]
    everywhere = tuple(
        dict.fromkeys(each.rule for one in (usual, *policies.values()) for each in one.rules)
    )

    def findings(index: int) -> ObjectFindings:
        one, position = work[index]
        scope = _scope(position, one, asked, hidden)
        return object_findings.object_findings(documents[position], one.judged[position], scope)

    found = tuple(spread(findings, len(work), everywhere))
    items = tuple(_once(_of_environments(zip(work, found, strict=True), everywhere, documents)))
    told = [position for position in sorted(subjects) if asked.reach_of(position) in _TOLD]
    objects = [each for each in map(subjects.__getitem__, told) if not each.is_part]
    left = sum(not each.is_part for each in subjects.values()) - len(objects)
    problems = (*asked.problems, *dict.fromkeys(each for one in found for each in one.problems))
    unread = (each for position in told for each in whole.unread.get(position, ()))
    notes = {
        EMPTY: "\n".join(_empty_environments(inside, asked.settled)),
        PARTS: str(len(told) - len(objects) or ""),
        UNREAD: "\n".join(unread),
    }
    return Report(
        items=baseline.with_known(items, asked.baseline),
        rules=everywhere,
        objects=len(objects),
        unchanged=left,
        unjudged=Counter(map(hidden.text, sorted(_unjudged(objects, everywhere)))),
        files=tuple(dict.fromkeys(documents[each].file for each in told)),
        problems=tuple(map(hidden.sentence, problems)),
        unused=() if left else tuple(map(hidden.text, _unused(inside, found, asked.today))),
        unseen=tuple(dict.fromkeys(each for one in found for each in one.unseen)),
        fail_on=asked.fail_on,
        notes={title: said for title, said in notes.items() if said},
    )


def _scope(
    position: int, one: _Environment, asked: CheckScope, hidden: ReportRedaction
) -> ObjectScope:
    """What the object at a position is judged by, as far as a change reaches it."""
    reach = asked.reach_of(position)
    return ObjectScope(
        rules=one.policy.looking if reach == Reach.AROUND else one.policy.rules,
        of_file=one.policy.of_file if reach == Reach.CHANGED else (),
        around=one.within.get(position, one.around),
        exemptions=one.policy.settled.exemptions,
        limits=one.policy.limits,
        today=asked.today,
        fail_on=asked.fail_on,
        hidden=hidden,
        is_unchanged=reach != Reach.CHANGED,
        has_unseen=reach != Reach.AROUND,
    )


def _once(items: Sequence[Item]) -> Iterator[Item]:
    """The findings, without secrets that are told of an object that stands in this one."""
    rule = literal_secrets.RULE
    inner = {each.place for each in items if each.inside and each.rule is rule}
    for each in items:
        if each.inside or each.rule is not rule or each.place not in inner:
            yield each


def _empty_environments(
    inside: Iterable[_Environment], settled: ResolvedConfiguration
) -> Iterator[str]:
    """Configured environments whose folders have nothing: what is set for them judges nothing."""
    found = {each.configured for each in inside}
    for name in settled.environments:
        if name not in found:
            yield f"{name}: {', '.join(settled.folders[name])}"


def _environment(
    given: DocumentEnvironment,
    whole: AllDocuments,
    asked: CheckScope,
    known: tuple[_Policy, Sequence[Subject]],
) -> _Environment:
    """What is judged together; `known` is what holds there, and what a cluster has."""
    policy, there = known
    settled = policy.settled
    changed = [each for each in given.positions if asked.reach_of(each) == Reach.CHANGED]
    left = [each for each in given.positions if asked.reach_of(each) != Reach.CHANGED]
    (own, parts), (others, more) = whole.with_inner(changed), whole.with_inner(left)
    values, around = ([whole.all[each].value for each in these] for these in (own, others))
    subjects = tree.subjects_of(values, [*asked.others, *around])
    # What these have from a runtime is said of that; changed ones say it where that did not change.
    beside = tree.subjects_of([*around, *values], asked.others)[: len(others)] if others else ()
    found = dict(zip((*own, *others), (*subjects, *beside), strict=True))
    named = (environments.new_name(whole.all[each]) for each in given.positions)
    renamed = dict(filter(None, named))
    ours = [found[each] for each in (*left, *changed)]
    world_with = partial(
        world.world_of, ours, settled.pools, is_whole=settled.is_whole, renamed=renamed
    )
    here, *elsewhere = whole.made_together(given.positions)
    within: dict[int, World] = {}
    if here:
        deployed = (*there, *(found[each] for each in here))
        within = dict.fromkeys(here, world_with(deployed=deployed))
    for these in filter(None, elsewhere):
        within |= dict.fromkeys(these, world.world_of(found[each] for each in these))
    found |= {each: subject_of_part(whole.all[each].value) for each in (*parts, *more)}
    around_all = world_with(deployed=there)
    return _Environment(given.name, given.configured, policy, around_all, found, within)


def _of_environments(
    found: Iterable[tuple[tuple[_Environment, int], ObjectFindings]],
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
        said = _SAID(item)
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


def _unused(
    inside: Iterable[_Environment], found: Iterable[ObjectFindings], today: date
) -> Iterator[str]:
    """What excuses nothing, or no more."""
    used = {each for one in found for each in one.used}
    given = {each: one.policy for one in inside for each in one.policy.settled.exemptions}
    for each, policy in given.items():
        whose = f"{each.owner}'s exemption from {each.rule} for {each.kind} {each.namespace}/{each.name}"
        excess = policy.limits.excess(each.expires, today)
        if each.state(today) == State.EXPIRED:
            yield f"{whose} expired on {each.expires}"
        elif each not in used:
            yield f"{whose} excuses nothing{excess and f': it {excess}'}"
