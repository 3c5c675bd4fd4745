"""queue-limits: quotas and limits are none below zero, and limits have a cohort to lend to and borrow from.

Kueue's webhook, in ClusterQueues and Cohorts. That a ClusterQueue without a cohort has no
borrowingLimit is in its CRD, and `schema` says it.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import queue_objects
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_LIMITS: Final = ("borrowingLimit", "lendingLimit")


def _places(subject: Subject) -> Iterator[Value]:
    if queue_objects.is_of_kueue(subject):
        for group in subject.object.at("spec", "resourceGroups").items():
            for flavor in group["flavors"].items():
                yield from flavor["resources"].items()


def _check(resource: Value, context: Context[Parameters]) -> Iterator[Finding]:
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


RULE: Final = Rule(
    id="queue-limits",
    title="Quotas and limits of queues are such that Kueue can share them",
    severity=Severity.HIGH,
    kinds=frozenset((names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue"),
    why="Kueue refuses the ClusterQueue or the Cohort.",
    fix="Write quotas from 0 on, limits only below a cohort, and lend no more than there is.",
    places=_places,
    check=_check,
)
