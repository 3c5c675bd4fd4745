"""CRDs of Karpenter and Cluster API for an API server without their controllers."""

from functools import partial
from typing import Final

from from_source.cluster import crds
from from_source.cluster.crds import JSON, Published

_CLUSTER_API: Final = partial(Published, "sigs.k8s.io/cluster-api", "v1.11.0")
FILES: Final = {
    "v1": (
        Published(
            "sigs.k8s.io/karpenter",
            "v1.8.0",
            "pkg/apis/crds/karpenter.sh_nodepools.yaml",
            "01f6d3342d3b2133d2c7f1e7191a4349bb9143259116fdc69f0b4344fffd2038",
        ),
    ),
    "v1beta2": (
        _CLUSTER_API(
            "config/crd/bases/cluster.x-k8s.io_machinedeployments.yaml",
            "308d2501ad61a83faeeb05db462e0fc8d535a2ccf263c88a05914566820cfa04",
        ),
        _CLUSTER_API(
            "config/crd/bases/cluster.x-k8s.io_machinepools.yaml",
            "23a3ca014e4c4f7d2b0742cc956f1f8b40bb764b82ad270f62792dd3f5ae7ebd",
        ),
    ),
}
"""By the version of their kinds that the platform writes."""


def pool_crds() -> tuple[JSON, ...]:
    """Of each only the version that the platform writes."""
    return tuple(
        _with_one_version(crds.published(file), version)
        for version, files in FILES.items()
        for file in files
    )


def _with_one_version(definition: JSON, version: str) -> JSON:
    """Its controller converts the others; nothing here asks for one."""
    spec = {key: value for key, value in definition["spec"].items() if key != "conversion"}
    spec["versions"] = [each for each in spec["versions"] if each["name"] == version]
    return {**definition, "spec": spec}
