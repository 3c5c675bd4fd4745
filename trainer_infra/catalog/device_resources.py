"""Resources of pods that are accelerators: whether one is a whole device for a process, or only a part of one.

Names are those of the vendors' device plugins, and of schedulers that share devices out (HAMi, Volcano,
Koordinator, Alibaba's).
"""

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from trainer_infra.api import quantity


class DeviceUse(StrEnum):
    """What one of a resource is to a process."""

    GPU = "gpu"
    """A GPU that CUDA or ROCm shows, so that torchrun can count them itself."""
    DEVICE = "device"
    """Another device, or a slice of one that counts as one: it takes one process."""
    SHARE = "share"
    """An amount of a device, such as its memory or its cores."""
    NONE = "none"
    """No accelerator: a network card, a mount."""
    UNKNOWN = "unknown"
    """A resource of some device plugin that we do not know."""


WHOLE: Final = (DeviceUse.GPU, DeviceUse.DEVICE)
"""Uses of what is a device, or a slice that counts as one."""
_USES: Final[tuple[tuple[DeviceUse, tuple[str, ...]], ...]] = (
    (DeviceUse.NONE, (
        "cpu", "memory", "storage", "ephemeral-storage", "pods", "hugepages-*", "attachable-*",
        "*/*efa*", "rdma/*", "*/*rdma*", "*/*hca*", "*/*roce*", "*/*sriov*", "*/*infiniband*",
        "nvidia.com/ib*", "nvidia.com/hostdev*", "nvidia.com/*nic*", "networking.gke.io*/*",
        "*/fuse", "*/kvm", "*/tun", "*/vhost*", "*_monitoring", "*/sgx*", "*/priority",
    )),
    (DeviceUse.SHARE, (
        "*mem", "*memory", "*mem-percentage", "*memory-*", "*.memory.*", "*memory.max",
        "*cores", "*-core", "*core.percentage", "*vcore", "*.vcore*", "*.vmem*", "*-ratio",
        "*-percentage", "*vcuda-*", "*/tiles", "koordinator.sh/gpu", "*/gpu-fraction",
    )),
    (DeviceUse.GPU, ("nvidia.com/gpu*", "nvidia.com/pgpu", "amd.com/gpu*")),
    (DeviceUse.DEVICE, (
        "nvidia.com/mig-*", "nvidia.com/vgpu*", "amd.com/*", "gpu.intel.com/*", "intel.com/npu*",
        "habana.ai/*", "google.com/tpu", "cloud-tpus.google.com/*", "aws.amazon.com/neuron*",
        "huawei.com/ascend*", "huawei.com/npu*", "cambricon.com/*", "hygon.com/*", "enflame.com/*",
        "metax-tech.com/*", "iluvatar.*/*", "mthreads.com/*", "kunlunxin.com/*", "birentech.com/*",
        "rebellions.ai/*", "furiosa.ai/*", "qualcomm.com/qaic*", "tenstorrent.com/*",
        "*/gpu-count", "*/vgpu-number", "*/gpu-number",
    )),
    # Of vendors that we do not know; the reference takes it for a GPU as well.
    (DeviceUse.GPU, ("*gpu*",)),
    (DeviceUse.UNKNOWN, ("*/*",)),
)  # fmt: skip
"""Names as patterns in small letters; the first one that fits decides."""

NEURON: Final = "aws.amazon.com/neuron"
"""A device with several cores, each of which can have a process."""


@lru_cache(maxsize=1024)
def device_use(resource: str) -> DeviceUse:
    """The use of a resource."""
    name = resource.lower()
    fitting = (use for use, patterns in _USES if any(fnmatchcase(name, each) for each in patterns))
    return next(fitting, DeviceUse.NONE)


def device_amounts(resources: Mapping[str, Any], *uses: DeviceUse) -> dict[str, int]:
    """How many of each resource with one of these uses are asked for, rounded up; none that is zero.

    Of requests and limits what is requested wins.
    """
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    found = {
        name: quantity.quantity_value(amount)
        for name, amount in asked.items()
        if device_use(name) in uses
    }
    return {name: count for name, count in found.items() if count}
