"""ProvisioningAdmission: a job starts when the autoscaler has got nodes for all of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Required, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.argument_problems import INTEGER, shape_problems
from trainer_infra.platform.component import Options, without_none
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent

_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
"""The part of Kueue that answers such checks."""


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
    kind = "ProvisioningRequestConfig"
    fields: ClassVar[Fields] = {
        "provisioning_class": at("spec.provisioningClassName"),
        "parameters": at("spec.parameters"),
        "managed_resources": at("spec.managedResources"),
        "retry": at(
            "spec.retryStrategy",
            backoff_limit_count=at("backoffLimitCount"),
            backoff_base_seconds=at("backoffBaseSeconds"),
            backoff_max_seconds=at("backoffMaxSeconds"),
        ),
        "pod_set_updates": at(
            "spec.podSetUpdates.nodeSelector",
            lambda updates: updates or None,
            key=at("key"),
            value_from_detail=at("valueFromProvisioningClassDetail"),
        ),
        "pod_set_merge_policy": at("spec.podSetMergePolicy"),
    }

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[ProvisioningAdmissionArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)

    @override
    def _problems(self, args: Any) -> Iterator[Problem]:
        chosen = args["provisioning_class"]
        if isinstance(chosen, str) and "karpenter" in chosen:
            what = "does not exist: Karpenter has no classes"
            fix = "leave the check out where Karpenter makes the nodes"
            yield Problem("provisioning_class", what, chosen, fix)
        for field, count in without_none(args.get("retry", {})).items():
            yield from shape_problems(("retry", field), count, INTEGER | {"minimum": 0})

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        yield from super()._objects(args)
        yield self._check(_CONTROLLER, args)
