"""resource-groups: a queue names each resource and each flavor once, and not more than Kueue takes.

Kueue's webhook, in ClusterQueues and Cohorts. A flavor that stands twice in one group is in the CRD,
and `schema` says it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import lookup, queue_objects
from trainer_infra.rules.rule import Finding, Parameters, Rule, Severity, Subject, Value

_MOST: Final = 256
"""Flavors, and covered resources, of one ClusterQueue."""
_MOST_QUOTAS: Final = 512
"""Quotas of one group: a flavor has one for each resource."""

Part = Callable[[], Iterator[Finding]]


def _places(subject: Subject) -> Iterator[Part]:
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
        yield name.finding("is no flavor of this queue", name.text(), fix)


RULE: Final[Rule[Part, Parameters]] = Rule(
    id="resource-groups",
    title="Queues name each resource and each flavor once",
    severity=Severity.HIGH,
    kinds=frozenset((names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue"),
    why="Kueue refuses the ClusterQueue or the Cohort: it would not know which quota is meant.",
    fix="Name each resource and each flavor in one resource group.",
    places=_places,
    check=lambda part, _context: part(),
)
