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
    from trainer_infra.platform.queues.flavors import ResourceFlavor, Topology
    from trainer_infra.platform.queues.kueue_queues import (
        ClusterQueue,
        Cohort,
        LocalQueue,
        WorkloadPriorityClass,
    )
    from trainer_infra.platform.queues.multi_kueue import MultiKueue
    from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmission
    from trainer_infra.platform.queues.volcano_queue import VolcanoQueue
    from trainer_infra.platform.runtime_catalog import RuntimeCatalog
    from trainer_infra.platform.trainer_control_plane import TrainerControlPlane
    from trainer_infra.platform.trainer_platform import TrainerPlatform
    from trainer_infra.platform.workspace import Workspace

__all__ = [
    "ClusterQueue", "Cohort", "Coscheduling", "DeviceDriver", "GpuNodePool", "HelmChart",
    "JobSetController", "Kai", "Kueue", "LeaderWorkerSetController", "LocalQueue", "MultiKueue",
    "ProvisioningAdmission", "ResourceFlavor", "RuntimeCatalog", "Topology", "TrainerControlPlane",
    "TrainerPlatform", "Volcano", "VolcanoQueue", "WorkloadPriorityClass", "Workspace", "Yunikorn",
    "pool_quota", "upgrade_path", "version_problems",
]  # fmt: skip

_MODULES = {
    "chart_reference": ("HelmChart",),
    "chart_schedulers": ("Kai", "Yunikorn"),
    "compatibility": ("upgrade_path", "version_problems"),
    "drivers.device_driver": ("DeviceDriver",),
    "gang_schedulers": ("Coscheduling", "Volcano"),
    "job_controllers": ("JobSetController", "LeaderWorkerSetController"),
    "kueue": ("Kueue",),
    "pools.gpu_node_pool": ("GpuNodePool", "pool_quota"),
    "queues.flavors": ("ResourceFlavor", "Topology"),
    "queues.kueue_queues": ("ClusterQueue", "Cohort", "LocalQueue", "WorkloadPriorityClass"),
    "queues.multi_kueue": ("MultiKueue",),
    "queues.provisioning_admission": ("ProvisioningAdmission",),
    "queues.volcano_queue": ("VolcanoQueue",),
    "runtime_catalog": ("RuntimeCatalog",),
    "trainer_control_plane": ("TrainerControlPlane",),
    "trainer_platform": ("TrainerPlatform",),
    "workspace": ("Workspace",),
}


def __getattr__(name: str) -> Any:
    """Load a component on first use."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
