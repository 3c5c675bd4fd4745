"""What a cloud calls an accelerator in node labels; `catalog.accelerators` has all of these names."""

from collections.abc import Mapping
from typing import Final

from trainer_infra.platform.pools.declaration import Declaration

GKE_ACCELERATOR: Final = "cloud.google.com/gke-accelerator"
KARPENTER_GPU: Final = "karpenter.k8s.aws/instance-gpu-name"
_MEGA: Final = "nvidia-h100-mega-80gb"


def gke_accelerator(declared: Declaration) -> str | None:
    """What GKE calls the accelerator: of A3 Mega machines it has a name of its own."""
    if declared.accelerator is None:
        return None
    if any(each.name == "a3-megagpu-8g" for each in declared.machines):
        return _MEGA
    others = (each for each in declared.accelerator.labels if each != _MEGA)
    return next((each for each in others if each.startswith("nvidia-")), declared.accelerator.name)


def karpenter_gpu(declared: Declaration) -> str | None:
    """What Karpenter calls it on AWS; None where that name is another accelerator's as well."""
    known = declared.accelerator.labels if declared.accelerator else ()
    return next((each for each in known if each.islower() and "-" not in each), None)


def accelerator_labels(declared: Declaration) -> Mapping[str, str]:
    """The labels that machines of the pool have for their accelerators."""
    on_gke = declared.cloud == "gcp" and declared.backend != "cluster_api"
    found = {
        GKE_ACCELERATOR: gke_accelerator(declared) if on_gke else None,
        KARPENTER_GPU: karpenter_gpu(declared) if declared.backend == "karpenter" else None,
    }
    return {key: each for key, each in found.items() if each is not None}
