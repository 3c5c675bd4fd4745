"""The training platform as Pulumi components: `from trainer_infra import platform`.

Attributes are loaded on first use (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_infra.platform.chart_reference import HelmChart
    from trainer_infra.platform.chart_schedulers import Kai, Yunikorn
    from trainer_infra.platform.compatibility import upgrade_path, version_problems
    from trainer_infra.platform.drivers.device_driver import DeviceDriver
    from trainer_infra.platform.gang_schedulers import Coscheduling, Volcano
    from trainer_infra.platform.job_controllers import JobSetController, LeaderWorkerSetController
    from trainer_infra.platform.kueue import Kueue
    from trainer_infra.platform.pools.gpu_node_pool import GpuNodePool, pool_quota
    from trainer_infra.platform.queues.cluster_queue import ClusterQueue
    from trainer_infra.platform.queues.cohort import Cohort
    from trainer_infra.platform.queues.flavors import ResourceFlavor, Topology
    from trainer_infra.platform.queues.local_queue import LocalQueue
    from trainer_infra.platform.queues.multi_kueue import MultiKueue
    from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmission
    from trainer_infra.platform.queues.volcano_queue import VolcanoQueue
    from trainer_infra.platform.queues.workload_priority_class import WorkloadPriorityClass
    from trainer_infra.platform.runtime_catalog import RuntimeCatalog
    from trainer_infra.platform.trainer_control_plane import TrainerControlPlane
    from trainer_infra.platform.trainer_platform import TrainerPlatform
    from trainer_infra.platform.workspace import Workspace

__all__ = [
    "ClusterQueue",
    "Cohort",
    "Coscheduling",
    "DeviceDriver",
    "GpuNodePool",
    "HelmChart",
    "JobSetController",
    "Kai",
    "Kueue",
    "LeaderWorkerSetController",
    "LocalQueue",
    "MultiKueue",
    "ProvisioningAdmission",
    "ResourceFlavor",
    "RuntimeCatalog",
    "Topology",
    "TrainerControlPlane",
    "TrainerPlatform",
    "Volcano",
    "VolcanoQueue",
    "WorkloadPriorityClass",
    "Workspace",
    "Yunikorn",
    "pool_quota",
    "upgrade_path",
    "version_problems",
]

_HOME = {
    "ClusterQueue": "queues.cluster_queue",
    "Cohort": "queues.cohort",
    "Coscheduling": "gang_schedulers",
    "DeviceDriver": "drivers.device_driver",
    "GpuNodePool": "pools.gpu_node_pool",
    "HelmChart": "chart_reference",
    "JobSetController": "job_controllers",
    "Kai": "chart_schedulers",
    "Kueue": "kueue",
    "LeaderWorkerSetController": "job_controllers",
    "LocalQueue": "queues.local_queue",
    "MultiKueue": "queues.multi_kueue",
    "ProvisioningAdmission": "queues.provisioning_admission",
    "ResourceFlavor": "queues.flavors",
    "RuntimeCatalog": "runtime_catalog",
    "Topology": "queues.flavors",
    "TrainerControlPlane": "trainer_control_plane",
    "TrainerPlatform": "trainer_platform",
    "Volcano": "gang_schedulers",
    "VolcanoQueue": "queues.volcano_queue",
    "WorkloadPriorityClass": "queues.workload_priority_class",
    "Workspace": "workspace",
    "Yunikorn": "chart_schedulers",
    "pool_quota": "pools.gpu_node_pool",
    "upgrade_path": "compatibility",
    "version_problems": "compatibility",
}


def __getattr__(name: str) -> Any:
    """Load a component on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
