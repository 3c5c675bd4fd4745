"""The fabrics that training is wired to; docs/gpu-node-pools.md has the same as a table."""

from collections.abc import Mapping
from typing import Final

from trainer_infra.catalog.fabrics import efa, gke_rdma, shared_rdma, tcpx, tcpxo
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricName, FabricPreset

_GKE: Final = (tcpx.PRESET, tcpxo.PRESET, gke_rdma.PRESET)
_PRESETS: Final = (efa.PRESET, *_GKE, shared_rdma.INFINIBAND, shared_rdma.ROCE)
FABRICS: Final[Mapping[str, FabricPreset]] = {each.name: each for each in _PRESETS}
"""All presets by name."""


def fabric_of(
    name: FabricName,
    *,
    interfaces: int | None = None,
    resource: str = "",
    networks: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> Fabric:
    """A preset with what one pool has of it, the preset's own unless given: the fields of `Fabric`.

    Raises:
        KeyError: There is no preset of that name.
    """
    preset = FABRICS[name]
    return Fabric(
        preset=preset,
        interfaces=preset.interfaces if interfaces is None else interfaces,
        resource=resource or preset.resource,
        networks=networks,
        environment=tuple((environment or {}).items()),
    )
