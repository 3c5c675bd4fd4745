"""What Kueue knows of a pool, as the arguments of its ResourceFlavor and ProvisioningAdmission."""

from typing import Any, Final, cast

from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmissionArgs
from trainer_infra.platform.queues.resource_flavor import ResourceFlavorArgs
from trainer_infra.platform.queues.topology import Topology
from trainer_infra.rules.node_pool import PoolSpec

QUEUED: Final = "queued-provisioning.gke.io"
"""GKE's class, by which it makes all machines of a job together."""
_REQUEST: Final = "autoscaling.gke.io/provisioning-request"
_HARD: Final = ("NoSchedule", "NoExecute")


def flavor_arguments(spec: PoolSpec, topology: Topology | None) -> ResourceFlavorArgs:
    """The arguments of its ResourceFlavor.

    The flavor's tolerations are added to the pods of admitted jobs, so that no job has to write them.

    Args:
        spec: of the pool.
        topology: of the pool; the flavor is made after it, and deleted before.
    """
    taints = [dict(each) for each in spec.taints if each["effect"] in _HARD]
    args: dict[str, Any] = {
        "node_labels": dict(spec.labels),
        "tolerations": [dict(each) for each in spec.tolerations],
    }
    if taints:
        args["node_taints"] = taints
    if topology is not None:
        args["topology_name"] = topology
    return cast("ResourceFlavorArgs", args)


def admission_arguments(spec: PoolSpec, provisioning_class: str) -> ProvisioningAdmissionArgs:
    """The arguments of its ProvisioningAdmission.

    GKE marks the nodes that it made for a job, and the job's pods have to select them.

    Args:
        spec: of the pool.
        provisioning_class: by which Kueue asks for its machines.
    """
    args: ProvisioningAdmissionArgs = {
        "provisioning_class": provisioning_class,
        "managed_resources": [spec.resource],
    }
    if spec.max_run_duration is not None:
        args["parameters"] = {"maxRunDurationSeconds": str(spec.max_run_duration)}
    if provisioning_class == QUEUED:
        args["pod_set_updates"] = [{"key": _REQUEST, "value_from_detail": "ResizeRequestName"}]
    return args
