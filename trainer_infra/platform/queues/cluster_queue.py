"""ClusterQueue: the quota that jobs of several namespaces wait for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NotRequired, TypeAlias, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import Path
from trainer_infra.api.wire_types.object_references import LabelSelectorArgs
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import (
    NAME,
    ArgumentProblems,
    is_plain,
    quantity_text,
)
from trainer_infra.platform.queues.cohort import Cohort
from trainer_infra.platform.queues.multi_kueue import MultiKueue
from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmission
from trainer_infra.platform.queues.queue_component import (
    STOP_POLICIES,
    QueueArgs,
    QueueComponent,
    given_fields,
    judge_reference,
    name_of,
)
from trainer_infra.platform.queues.quota import (
    MOST_FLAVORS,
    Quota,
    QuotaRules,
    flavor_names,
    judge_quota,
    resource_groups,
)
from trainer_infra.platform.queues.resource_flavor import ResourceFlavor

STRATEGIES: Final = ("StrictFIFO", "BestEffortFIFO")
"""Whether a job that does not fit stops the younger ones."""
_CHECK_NAME: Final = NAME | {"maxLength": 316}
_MOST_CHECKS: Final = 64
_NEVER: Final = "Never"
_NEXT: Final = "TryNextFlavor"
_WHEN: Final = ("MayStopSearch", _NEXT)
_PREFERENCES: Final = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
_PREEMPTION: Final = {
    "within_cluster_queue": (_NEVER, "LowerPriority", "LowerOrNewerEqualPriority"),
    "reclaim_within_cohort": (_NEVER, "LowerPriority", "Any"),
}


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


class ClusterQueue(QueueComponent):
    """Kueue's ClusterQueue: the quota that jobs of several namespaces wait for."""

    _arguments = ClusterQueueArgs

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ClusterQueueArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `ClusterQueueArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        checks = args.get("admission_checks", ())
        return (
            args.get("cohort"),
            *args.get("quota", ()),
            *(each.get("check") if isinstance(each, Mapping) else each for each in checks),
        )

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        if "cohort" in args:
            judge_reference(problems, ("cohort",), args["cohort"], Cohort)
        judge_quota(problems, args.get("quota", {}), QuotaRules("cohort", "cohort" in args, True))
        problems.judge_selector(("namespace_selector",), args.get("namespace_selector", {}))
        for argument, choices in (
            ("queueing_strategy", STRATEGIES),
            ("stop_policy", STOP_POLICIES),
        ):
            if argument in args:
                problems.judge_choice((argument,), args[argument], choices)
        _judge_preemption(problems, args.get("preemption", {}))
        _judge_fungibility(problems, args.get("flavor_fungibility", {}))
        flavors = flavor_names(args.get("quota", ()))
        _judge_checks(problems, args.get("admission_checks", ()), flavors)
        if "fair_sharing_weight" in args:
            problems.judge_weight(("fair_sharing_weight",), args["fair_sharing_weight"])

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        spec: JSONDict = {"namespaceSelector": args.get("namespace_selector", {})}
        if "cohort" in args:
            spec["cohortName"] = name_of(args["cohort"])
        if groups := resource_groups(args.get("quota", {})):
            spec["resourceGroups"] = groups
        spec |= given_fields(args, queueing_strategy="queueingStrategy", stop_policy="stopPolicy")
        if "preemption" in args:
            spec["preemption"] = _preemption(args["preemption"])
        if "flavor_fungibility" in args:
            spec["flavorFungibility"] = given_fields(
                args["flavor_fungibility"],
                when_can_borrow="whenCanBorrow",
                when_can_preempt="whenCanPreempt",
                preference="preference",
            )
        if checks := args.get("admission_checks"):
            spec["admissionChecksStrategy"] = {"admissionChecks": [_check(each) for each in checks]}
        if "fair_sharing_weight" in args:
            spec["fairSharing"] = {"weight": quantity_text(args["fair_sharing_weight"])}
        yield self._object("ClusterQueue", args, spec=spec)


def _judge_preemption(problems: ArgumentProblems, preemption: object) -> None:
    at: Path = ("preemption",)
    found = problems.plain_fields(at, preemption, (*_PREEMPTION, "borrow_within_cohort"))
    for field, choices in _PREEMPTION.items():
        if field in found:
            problems.judge_choice((*at, field), found[field], choices)
    here = (*at, "borrow_within_cohort")
    known = ("policy", "max_priority_threshold")
    borrow = problems.plain_fields(here, found.get("borrow_within_cohort", {}), known)
    policy = borrow.get("policy", _NEVER)
    problems.judge_choice((*here, "policy"), policy, (_NEVER, "LowerPriority"))
    if "max_priority_threshold" in borrow:
        place = (*here, "max_priority_threshold")
        problems.judge_number(place, borrow["max_priority_threshold"])
    reclaims = found.get("reclaim_within_cohort", _NEVER)
    if is_plain(policy) and policy != _NEVER and is_plain(reclaims) and reclaims == _NEVER:
        what = f"must be {_NEVER} where reclaim_within_cohort is {_NEVER}"
        problems.add((*here, "policy"), what, policy, "let reclaim_within_cohort be LowerPriority")


def _judge_fungibility(problems: ArgumentProblems, fungibility: object) -> None:
    at: Path = ("flavor_fungibility",)
    known = ("when_can_borrow", "when_can_preempt", "preference")
    found = problems.plain_fields(at, fungibility, known)
    both = (found.get("when_can_borrow", _WHEN[0]), found.get("when_can_preempt", _NEXT))
    for field, value in zip(known, both, strict=False):
        problems.judge_choice((*at, field), value, _WHEN)
    if "preference" in found:
        problems.judge_choice((*at, "preference"), found["preference"], _PREFERENCES)
        if any(is_plain(each) and each != _NEXT for each in both):
            what = f"needs when_can_borrow and when_can_preempt to be {_NEXT}"
            problems.add((*at, "preference"), what, found["preference"])


def _judge_checks(problems: ArgumentProblems, checks: object, flavors: Sequence[str]) -> None:
    at: Path = ("admission_checks",)
    listed = problems.plain_list(at, checks, _MOST_CHECKS)
    for index, each in enumerate(listed):
        here = (*at, index)
        if isinstance(each, Mapping):
            known = ("check", "on_flavors")
            found = problems.plain_fields(here, each, known, needed=("check",))
            if "check" in found:
                _judge_check(problems, (*here, "check"), found["check"])
            _judge_on_flavors(problems, here, found, flavors)
        else:
            _judge_check(problems, here, each)
    named = [each.get("check") if isinstance(each, Mapping) else each for each in listed]
    problems.judge_unique(at, [name_of(each) for each in named])
    workers = [each for each in named if isinstance(each, MultiKueue)]
    if len(workers) > 1:
        problems.add(at, "must have at most one MultiKueue", len(workers))
    if workers and any(isinstance(each, ProvisioningAdmission) for each in named):
        fix = "let each worker's queue have it"
        problems.add(at, "must not have a ProvisioningAdmission beside a MultiKueue", fix=fix)


def _judge_check(problems: ArgumentProblems, at: Path, check: object) -> None:
    kinds = (ProvisioningAdmission, MultiKueue)
    judge_reference(problems, at, check, *kinds, shape=_CHECK_NAME)


def _judge_on_flavors(
    problems: ArgumentProblems, at: Path, found: Mapping[str, Any], flavors: Sequence[str]
) -> None:
    at = (*at, "on_flavors")
    listed = problems.plain_list(at, found.get("on_flavors", ()), MOST_FLAVORS)
    chosen = [name_of(each) for each in listed]
    problems.judge_unique(at, chosen)
    for flavor in chosen:
        if flavor not in flavors:
            problems.add(at, "must be flavors of the quota", flavor)
    if chosen and isinstance(found.get("check"), MultiKueue) and set(chosen) != set(flavors):
        problems.add(at, "must be all flavors, or left out, where the check is a MultiKueue")


def _preemption(preemption: PreemptionArgs) -> JSONDict:
    made = given_fields(
        preemption,
        within_cluster_queue="withinClusterQueue",
        reclaim_within_cohort="reclaimWithinCohort",
    )
    if "borrow_within_cohort" in preemption:
        made["borrowWithinCohort"] = given_fields(
            preemption["borrow_within_cohort"],
            policy="policy",
            max_priority_threshold="maxPriorityThreshold",
        )
    return made


def _check(check: Any) -> JSONDict:
    if not isinstance(check, Mapping):
        return {"name": name_of(check)}
    made: JSONDict = {"name": name_of(check["check"])}
    if "on_flavors" in check:
        made["onFlavors"] = [name_of(each) for each in check["on_flavors"]]
    return made
