"""covered-resources-order: a flavor lists its resources as coveredResources does, in that order.

Kueue's webhook compares the two position by position, in ClusterQueues and Cohorts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.rules.finding import Change
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UNKNOWN


@dataclass(frozen=True, slots=True)
class Quotas:
    """A flavor's resources, and what they are to be like."""

    covered: Value
    """The group's coveredResources."""
    resources: Value
    """The flavor's resources."""


def _places(subject: Subject) -> Iterator[Quotas]:
    for group in subject.object.at("spec", "resourceGroups").items():
        for flavor in group["flavors"].items():
            yield Quotas(group["coveredResources"], flavor["resources"])


def _check(place: Quotas, _context: Context[Parameters]) -> Iterator[Finding]:
    covered = [each.text() for each in lookup.items(place.covered)]
    listed = [each["name"].text() for each in lookup.items(place.resources)]
    # An empty list, and a name that is there twice, are findings of their own.
    is_whole = covered and listed and len({*covered}) + len({*listed}) == len(covered + listed)
    if is_whole and covered != listed:
        same = sorted(covered) == sorted(listed) and len({*covered, ""}) == len(covered) + 1
        what = (
            "are not in the order of coveredResources"
            if same
            else "are others than coveredResources"
        )
        patch = _sorted(place.resources, covered, listed) if same else ()
        yield place.resources.finding(what, listed, f"list {', '.join(covered)}", patch)


def _sorted(resources: Value, covered: Sequence[str], listed: Sequence[str]) -> tuple[Change, ...]:
    by_name = dict(zip(listed, resources.raw, strict=True))
    found = [by_name[each] for each in covered]
    return () if _has_unknown(found) else resources.set_to(found)


def _has_unknown(items: Sequence[Any]) -> bool:
    """Whether a quota is not known yet: a patch would carry it about."""
    return any(value is UNKNOWN for each in items for value in dict(each).values())


RULE: Final = Rule(
    id="covered-resources-order",
    title="Flavors list their resources as coveredResources does",
    severity=Severity.HIGH,
    kinds=frozenset((names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue"),
    why="Kueue refuses a ClusterQueue whose flavors list other resources, or in another order.",
    fix="List the flavor's resources in the order of coveredResources.",
    places=_places,
    check=_check,
    remediates=True,
)
