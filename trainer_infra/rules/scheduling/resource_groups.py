"""Resource groups of ClusterQueues and Cohorts, as Kueue's webhook takes them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.rules.finding import Change
from trainer_infra.rules.placement import lookup, queue_objects
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UNKNOWN


def _check_order(place: tuple[Value, Value], _context: Context[Parameters]) -> Iterator[Finding]:
    group, resources = place[0], place[1]["resources"]
    covered = [each.text() for each in lookup.items(group["coveredResources"])]
    listed = [each["name"].text() for each in lookup.items(resources)]
    # An empty list, and a name that is there twice, are findings of their own.
    is_whole = covered and listed and len({*covered}) + len({*listed}) == len(covered + listed)
    if is_whole and covered != listed:
        same = sorted(covered) == sorted(listed) and len({*covered, ""}) == len(covered) + 1
        are = "are not in the order of" if same else "are others than"
        patch = _sorted(resources, covered, listed) if same else ()
        fix = f"list {', '.join(covered)}"
        yield resources.finding(f"{are} coveredResources", listed, fix, patch)


def _sorted(resources: Value, covered: Sequence[str], listed: Sequence[str]) -> tuple[Change, ...]:
    by_name = dict(zip(listed, resources.raw, strict=True))
    found = [by_name[each] for each in covered]
    # A patch would carry about a quota that is not known yet.
    has_unknown = any(value is UNKNOWN for each in found for value in dict(each).values())
    return () if has_unknown else resources.set_to(found)


COVERED_RESOURCES_ORDER: Final = Rule(
    id="covered-resources-order",
    title="Flavors must list their resources in the order of coveredResources",
    severity=Severity.HIGH,
    kinds=frozenset((names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue"),
    why="Kueue rejects a ClusterQueue whose flavors list other resources, or the same ones in another order.",
    fix="List the flavor's resources in the order of coveredResources.",
    places=queue_objects.quotas,
    check=_check_order,
    remediates=True,
)
"""Kueue's webhook compares the two position by position, in ClusterQueues and Cohorts."""


_LIMITS: Final = ("borrowingLimit", "lendingLimit")


def _places_of_limits(subject: Subject) -> Iterator[Value]:
    if queue_objects.is_of_kueue(subject):
        for _, flavor in queue_objects.quotas(subject):
            yield from flavor["resources"].items()


def _check_limits(resource: Value, context: Context[Parameters]) -> Iterator[Finding]:
    for each in ("nominalQuota", *_LIMITS):
        amount = resource[each].quantity()
        if amount is not None and amount < 0:
            yield resource[each].finding("is less than 0", resource[each].raw, "write 0 or more")
            return
    yield from _without_cohort(resource, context.subject)
    yield from _more_than_there_is(resource, context.subject)


def _without_cohort(resource: Value, subject: Subject) -> Iterator[Finding]:
    is_cohort = subject.kind == names.COHORT
    limits = [resource[each] for each in (_LIMITS if is_cohort else _LIMITS[1:])]
    if any(each.is_there() for each in limits) and not queue_objects.cohort(subject).text():
        above = "parent" if is_cohort else "cohort"
        fix = f"name a {above}, or remove it"
        for each in limits:
            if each.is_there():
                yield each.finding(f"is set, and there is no {above} to share with", each.raw, fix)


def _more_than_there_is(resource: Value, subject: Subject) -> Iterator[Finding]:
    """A Cohort may lend more than its own: it lends what is below it too."""
    if subject.kind == names.COHORT:
        return
    lending, own = resource["lendingLimit"].quantity(), resource["nominalQuota"].quantity()
    if lending is not None and own is not None and lending > own:
        what = f"is more than the {resource['nominalQuota'].raw} of nominalQuota"
        yield resource["lendingLimit"].finding(what, resource["lendingLimit"].raw, "lower it")


QUEUE_LIMITS: Final = Rule(
    id="queue-limits",
    title="Quotas and limits of queues must be valid",
    severity=Severity.HIGH,
    kinds=frozenset((names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue"),
    why="Kueue rejects the ClusterQueue or the Cohort.",
    fix="Use quotas of 0 or more, set limits only inside a cohort, and lend no more than the queue has.",
    places=_places_of_limits,
    check=_check_limits,
)
"""Kueue's webhook, in ClusterQueues and Cohorts. That a ClusterQueue without a cohort has no
borrowingLimit is in its CRD, and `schema` says it.
"""


_MOST: Final = 256
"""Flavors, and covered resources, of one ClusterQueue."""
_MOST_QUOTAS: Final = 512
"""Quotas of one group: a flavor has one for each resource."""
Part = Callable[[], Iterator[Finding]]


def _places_of_groups(subject: Subject) -> Iterator[Part]:
    if not queue_objects.is_of_kueue(subject):
        return
    spec = subject.object["spec"]
    groups = spec["resourceGroups"]
    yield partial(_once, groups, "coveredResources")
    yield partial(_once, groups, "flavors")
    if subject.kind == names.CLUSTER_QUEUE:
        yield partial(_not_too_many, groups)
        checks = spec.at("admissionChecksStrategy", "admissionChecks")
        for check in checks.items():
            yield from (partial(_is_flavor, each, groups) for each in check["onFlavors"].items())


def _once(groups: Value, field: str) -> Iterator[Finding]:
    """Each name of the lists stands in one of them; the first of two is right."""
    seen: dict[str, int] = {}
    for index, group in enumerate(groups.items()):
        for each in group[field].items():
            name = each["name"] if field == "flavors" else each
            if name.is_noted() or not name.text():
                continue
            first = seen.setdefault(name.text(), -1)
            if first not in (-1, index):
                what = f"stands in resource group {first} too"
                yield name.finding(what, name.text(), "name it in one group alone")
            elif first == index and field != "flavors":
                yield name.finding("stands here twice", name.text(), "remove one of them")
            elif first == -1:
                seen[name.text()] = index


def _not_too_many(groups: Value) -> Iterator[Finding]:
    for field in ("flavors", "coveredResources"):
        count = sum(len(tuple(each[field].items())) for each in groups.items())
        if count > _MOST:
            yield groups.finding(f"have {count} {field}, and Kueue takes {_MOST}")
    for group in groups.items():
        count = sum(len(tuple(each["resources"].items())) for each in group["flavors"].items())
        if count > _MOST_QUOTAS:
            yield group.finding(f"has {count} quotas, and Kueue takes {_MOST_QUOTAS}")


def _is_flavor(name: Value, groups: Value) -> Iterator[Finding]:
    lists = [group["flavors"] for group in lookup.items(groups)]
    known = sorted({each["name"].text() for flavors in lists for each in lookup.items(flavors)})
    if name.text() and name.text() not in known:
        fix = f"name {' or '.join(known[:3])}" if known else "add the flavor"
        yield name.finding("is not a flavor of this queue", name.text(), fix)


RESOURCE_GROUPS: Final[Rule[Part, Parameters]] = Rule(
    id="resource-groups",
    title="A queue must list each resource and each flavor once",
    severity=Severity.HIGH,
    kinds=frozenset((names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue"),
    why="Kueue rejects the ClusterQueue or the Cohort, because it could not tell which quota applies.",
    fix="List each resource and each flavor in one resource group.",
    places=_places_of_groups,
    check=lambda part, _context: part(),
)
"""Kueue's webhook, in ClusterQueues and Cohorts. A flavor that stands twice in one group is in the CRD,
and `schema` says it.
"""
