"""ClusterQueue: the quota that jobs of several namespaces wait for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NotRequired, TypeAlias, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.wire_types.object_references import LabelSelectorArgs
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.cohort import Cohort
from trainer_infra.platform.queues.flavors import ResourceFlavor
from trainer_infra.platform.queues.multi_kueue import MultiKueue
from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmission
from trainer_infra.platform.queues.queue_component import (
    WEIGHT,
    QueueArgs,
    QueueComponent,
    name_of,
    names_of,
)
from trainer_infra.platform.queues.quota import QUOTA, Quota, quota_problems

CheckName: TypeAlias = pulumi.Input[str] | ProvisioningAdmission | MultiKueue


class BorrowWithinCohortArgs(TypedDict, total=False):
    """Whether a job that would borrow may stop others for it."""

    policy: str
    """`Never`, or `LowerPriority`."""
    max_priority_threshold: pulumi.Input[int]
    """Jobs of a higher priority are not stopped."""


class PreemptionArgs(TypedDict, total=False):
    """Which running jobs make room for one that waits; each is `Never` unless given."""

    within_cluster_queue: pulumi.Input[str]
    """Of the same queue: `LowerPriority` or `LowerOrNewerEqualPriority`."""
    reclaim_within_cohort: pulumi.Input[str]
    """Of queues that borrow what is this one's: `LowerPriority` or `Any`."""
    borrow_within_cohort: BorrowWithinCohortArgs
    """Of other queues, so that this one can borrow."""


class FlavorFungibilityArgs(TypedDict, total=False):
    """What Kueue does where a flavor has room only by borrowing, or by stopping others."""

    when_can_borrow: pulumi.Input[str]
    """`MayStopSearch` (borrow; the default) or `TryNextFlavor`."""
    when_can_preempt: pulumi.Input[str]
    """`TryNextFlavor` (the default) or `MayStopSearch` (stop others)."""
    preference: pulumi.Input[str]
    """`BorrowingOverPreemption` or `PreemptionOverBorrowing`, where both try the next flavor."""


class AdmissionCheckArgs(TypedDict):
    """A check that does not count for every flavor."""

    check: CheckName
    """A `ProvisioningAdmission`, a `MultiKueue`, or the name of an AdmissionCheck."""
    on_flavors: NotRequired[Sequence[str | ResourceFlavor]]
    """The flavors that it counts for; all unless given."""


AdmissionChecks: TypeAlias = Sequence[CheckName | AdmissionCheckArgs]


class ClusterQueueArgs(QueueArgs, total=False):
    """Arguments of a queue."""

    cohort: pulumi.Input[str] | Cohort
    """The cohort in which it lends and borrows."""
    quota: Quota
    """How much of each flavor it has, in the order in which Kueue tries the flavors."""
    namespace_selector: LabelSelectorArgs
    """Namespaces whose LocalQueues may use it, in wire form; all (`{}`) unless given. Kueue's own
    default is none."""
    queueing_strategy: pulumi.Input[str]
    """`BestEffortFIFO` (the default), or `StrictFIFO`: a job that does not fit stops younger ones."""
    preemption: PreemptionArgs
    """Which running jobs make room; none unless given."""
    flavor_fungibility: FlavorFungibilityArgs
    """When Kueue tries the next flavor."""
    admission_checks: AdmissionChecks
    """What else must agree before a job starts."""
    stop_policy: pulumi.Input[str]
    """`None`, `Hold` (admit no more) or `HoldAndDrain` (evict those that run as well)."""
    fair_sharing_weight: pulumi.Input[float | str]
    """Its part when queues of the cohort compete, where Kueue shares fairly; 1 unless given."""
    admission_mode: pulumi.Input[str]
    """`UsageBasedAdmissionFairSharing`: its LocalQueues take turns by their past use and weights, where
    Kueue's configuration has `admissionFairSharing`; `NoAdmissionFairSharing` unless given."""


class ClusterQueue(QueueComponent):
    """Kueue's ClusterQueue: the quota that jobs of several namespaces wait for."""

    _arguments = ClusterQueueArgs
    kind = "ClusterQueue"
    fields: ClassVar[Fields] = {
        "namespace_selector": at("spec.namespaceSelector"),
        "cohort": at("spec.cohortName", name_of),
        "quota": QUOTA,
        "queueing_strategy": at("spec.queueingStrategy"),
        "stop_policy": at("spec.stopPolicy"),
        "preemption": at(
            "spec.preemption",
            within_cluster_queue=at("withinClusterQueue"),
            reclaim_within_cohort=at("reclaimWithinCohort"),
            borrow_within_cohort=at(
                "borrowWithinCohort",
                policy=at("policy"),
                max_priority_threshold=at("maxPriorityThreshold"),
            ),
        ),
        "flavor_fungibility": at(
            "spec.flavorFungibility",
            when_can_borrow=at("whenCanBorrow"),
            when_can_preempt=at("whenCanPreempt"),
            preference=at("preference"),
        ),
        "admission_checks": at(
            "spec.admissionChecksStrategy.admissionChecks",
            lambda checks: checks or None,
            check=at("name", name_of),
            on_flavors=at("onFlavors", names_of),
        ),
        "fair_sharing_weight": WEIGHT,
        "admission_mode": at("spec.admissionScope.admissionMode"),
    }

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[ClusterQueueArgs]
    ) -> None:
        """Declare it; what to give is in `ClusterQueueArgs`."""
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("cohort"), *args.get("quota", ()), *_checks(args))

    @override
    def _problems(self, args: Any) -> Iterator[Problem]:
        yield from quota_problems(args.get("quota", {}))
        workers = [each for each in _checks(args) if isinstance(each, MultiKueue)]
        if len(workers) > 1:
            yield Problem("admission_checks", "must have at most one MultiKueue", len(workers))
        if workers and any(isinstance(each, ProvisioningAdmission) for each in _checks(args)):
            what = "must not have a ProvisioningAdmission beside a MultiKueue"
            fix = "let each worker's queue have it"
            yield Problem("admission_checks", what, fix=fix)
        flavors = {*names_of(args.get("quota", ()))}
        for index, each in enumerate(args.get("admission_checks", ())):
            if not isinstance(each, Mapping) or not isinstance(each["check"], MultiKueue):
                continue
            chosen = each.get("on_flavors")
            if chosen and {*names_of(chosen)} < flavors:
                what = "must be all flavors, or left out, where the check is a MultiKueue"
                yield Problem(f"admission_checks[{index}].on_flavors", what)

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        return super()._objects({"namespace_selector": {}, **args})


def _checks(args: Any) -> list[Any]:
    checks = args.get("admission_checks", ())
    return [each.get("check") if isinstance(each, Mapping) else each for each in checks]
