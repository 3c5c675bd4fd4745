"""ProvisioningAdmission: a job starts when the autoscaler has got nodes for all of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Required, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import (
    LABEL_KEY,
    NAME,
    SHORT_NAME,
    ArgumentProblems,
)
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent, given_fields

CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
"""The part of Kueue that answers such checks."""
MERGE_POLICIES: Final = ("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")
_KIND: Final = "ProvisioningRequestConfig"
_PARAMETER: Final = {"maxLength": 255}
_DETAIL: Final = {"minLength": 1, "maxLength": 32768}
_MOST: Final = 100
"""Parameters, and resources."""
_MOST_UPDATES: Final = 8
_RETRY: Final = {
    "backoff_limit_count": "backoffLimitCount",
    "backoff_base_seconds": "backoffBaseSeconds",
    "backoff_max_seconds": "backoffMaxSeconds",
}
_UPDATE: Final = ("key", "value_from_detail")
_KARPENTER: Final = "karpenter"


class RetryArgs(TypedDict, total=False):
    """What happens when there are no nodes."""

    backoff_limit_count: pulumi.Input[int]
    """How often Kueue asks again before it gives the job up; 3 unless given, 0 for never."""
    backoff_base_seconds: pulumi.Input[int]
    """Seconds before the second time, which double each time; 60 unless given."""
    backoff_max_seconds: pulumi.Input[int]
    """Seconds at most; 1800 unless given."""


class NodeSelectorUpdateArgs(TypedDict):
    """A node label that the autoscaler chooses and the pods then select."""

    key: pulumi.Input[str]
    value_from_detail: pulumi.Input[str]
    """Key of the ProvisioningRequest's `status.provisioningClassDetails` that has the value."""


class ProvisioningAdmissionArgs(QueueArgs, total=False):
    """Arguments of such a check."""

    provisioning_class: Required[pulumi.Input[str]]
    """What the autoscaler does: `check-capacity.autoscaling.x-k8s.io`,
    `best-effort-atomic-scale-up.autoscaling.x-k8s.io`, GKE's `queued-provisioning.gke.io`."""
    parameters: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    """What the class takes, for example `{"maxRunDurationSeconds": "604800"}`; texts all."""
    managed_resources: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Only pods that ask for one of these wait for nodes; all pods unless given."""
    retry: RetryArgs
    """What happens when there are no nodes."""
    pod_set_updates: Sequence[NodeSelectorUpdateArgs]
    """Labels that keep the pods on the nodes that were made for them."""
    pod_set_merge_policy: pulumi.Input[str]
    """`IdenticalPodTemplates` or `IdenticalWorkloadSchedulingRequirements`: which pods the autoscaler
    sees as one set."""


class ProvisioningAdmission(QueueComponent):
    """Kueue's AdmissionCheck and ProvisioningRequestConfig, which have one name.

    Cluster Autoscaler and GKE answer ProvisioningRequests; Karpenter does not.
    """

    _arguments = ProvisioningAdmissionArgs
    _name_shape = SHORT_NAME

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ProvisioningAdmissionArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `ProvisioningAdmissionArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        chosen = args["provisioning_class"]
        problems.judge_text(("provisioning_class",), chosen, NAME)
        if isinstance(chosen, str) and _KARPENTER in chosen:
            fix = "leave the check out where Karpenter makes the nodes"
            problems.add(("provisioning_class",), "is none: Karpenter has no classes", chosen, fix)
        at: Path = ("parameters",)
        for key, value in problems.plain_mapping(at, args.get("parameters", {}), _MOST).items():
            problems.judge_text((*at, key), value, _PARAMETER)
        at = ("managed_resources",)
        problems.judge_unique(at, problems.plain_list(at, args.get("managed_resources", ()), _MOST))
        at = ("retry",)
        retry = problems.plain_fields(at, args.get("retry", {}), tuple(_RETRY))
        for field in retry.keys() & _RETRY.keys():
            problems.judge_number((*at, field), retry[field], least=0)
        _judge_updates(problems, args.get("pod_set_updates", ()))
        if "pod_set_merge_policy" in args:
            place = ("pod_set_merge_policy",)
            problems.judge_choice(place, args["pod_set_merge_policy"], MERGE_POLICIES)

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        spec = given_fields(
            args,
            provisioning_class="provisioningClassName",
            parameters="parameters",
            managed_resources="managedResources",
            pod_set_merge_policy="podSetMergePolicy",
        )
        if "retry" in args:
            spec["retryStrategy"] = given_fields(args["retry"], **_RETRY)
        if updates := args.get("pod_set_updates"):
            spec["podSetUpdates"] = {"nodeSelector": [_update(each) for each in updates]}
        yield self._object(_KIND, args, spec=spec)
        yield self._object(
            "AdmissionCheck", args, spec=check_spec(self.object_name, CONTROLLER, _KIND)
        )


def check_spec(name: str, controller: str, kind: str) -> JSONDict:
    """Of an AdmissionCheck whose parameters are an object of the same name.

    Args:
        name: the object's.
        controller: who answers the check.
        kind: the object's.
    """
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": kind, "name": name}
    return {"controllerName": controller, "parameters": parameters}


def _judge_updates(problems: ArgumentProblems, updates: object) -> None:
    at: Path = ("pod_set_updates",)
    keys = []
    for index, each in enumerate(problems.plain_list(at, updates, _MOST_UPDATES)):
        here = (*at, index)
        found = problems.plain_fields(here, each, _UPDATE, needed=_UPDATE)
        if "key" in found:
            problems.judge_text((*here, "key"), found["key"], LABEL_KEY)
            keys.append(found["key"])
        if "value_from_detail" in found:
            problems.judge_text((*here, "value_from_detail"), found["value_from_detail"], _DETAIL)
    problems.judge_unique(at, keys)


def _update(update: NodeSelectorUpdateArgs) -> JSONDict:
    return given_fields(update, key="key", value_from_detail="valueFromProvisioningClassDetail")
