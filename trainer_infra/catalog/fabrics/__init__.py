"""The fabrics that training is wired to, one preset per file.

docs/gpu-node-pools.md has the same as a table. `fabric_of` makes a mixin of runtimes of a preset.
"""

from collections.abc import Mapping
from typing import Final

from trainer_infra.catalog.fabrics import efa, gke_rdma, infiniband, roce, tcpx, tcpxo
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricName, FabricPreset

PRESETS: Final = (
    efa.PRESET,
    tcpx.PRESET,
    tcpxo.PRESET,
    gke_rdma.PRESET,
    infiniband.PRESET,
    roce.PRESET,
)
"""All there are."""
FABRICS: Final[Mapping[str, FabricPreset]] = {each.name: each for each in PRESETS}
"""By name."""


def fabric_of(
    name: FabricName,
    *,
    interfaces: int | None = None,
    resource: str = "",
    networks: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> Fabric:
    """A preset with what one pool has of it.

    Args:
        name: of the preset.
        interfaces: of one machine; the preset's unless given.
        resource: by which pods ask for interfaces; the preset's unless given.
        networks: names of the Network objects beside the first interface; the preset's unless given.
        environment: variables beside the preset's, or in place of them.

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
