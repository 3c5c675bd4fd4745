"""What Kueue knows of a pool as the arguments of its ResourceFlavor."""

from typing import Any, Final, cast

from trainer_infra.platform.queues.resource_flavor import ResourceFlavorArgs
from trainer_infra.platform.queues.topology import Topology
from trainer_infra.rules.node_pool import PoolSpec

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
