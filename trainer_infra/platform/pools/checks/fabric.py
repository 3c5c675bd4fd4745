"""The fabric: whether the machines have it."""

from collections.abc import Iterator

from trainer_infra.catalog.fabrics import FABRICS
from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import Declaration


def problems_of_fabric(declared: Declaration) -> Iterator[Problem]:
    """Problems of `fabric`."""
    preset = declared.fabric
    if preset is None:
        return
    name = preset.name
    if preset.cloud is not None and declared.cloud not in {None, preset.cloud}:
        what = f"is a fabric of {preset.cloud}, and the machines are of {declared.cloud}"
        yield Problem("fabric", what, got=name)
        return
    yield from _hardware_problems(declared)
    yield from _interface_problems(declared)


def _hardware_problems(declared: Declaration) -> Iterator[Problem]:
    name = declared.fabric_args["preset"]
    for each in declared.machines:
        has_it = name in each.fabrics
        if not has_it and (each.cloud == "aws" or FABRICS[name].cloud is not None):
            other = f"it has {', '.join(each.fabrics)}" if each.fabrics else "it has plain TCP only"
            yield Problem("fabric", f"is nothing that {each.name} has: {other}", got=name)


def _interface_problems(declared: Declaration) -> Iterator[Problem]:
    given, name = declared.fabric_args, declared.fabric_args["preset"]
    interfaces = given.get("interfaces")
    if name == "efa":
        most = min((each.efa for each in declared.machines), default=None)
        if interfaces is None and most is None:
            what = "is missing, and there is no machine type to take it from"
            yield Problem("fabric.interfaces", what)
        if interfaces is not None and most and interfaces > most:
            what = f"is more than the {most} EFA interfaces that a machine has"
            yield Problem("fabric.interfaces", what, got=interfaces)
        if len(declared.args.get("zones", ())) > 1:
            what = "is more than one zone, and EFA reaches no other"
            yield Problem("zones", what, got=list(declared.args["zones"]), fix="write one zone")
    if interfaces is not None and interfaces < 1:
        yield Problem("fabric.interfaces", "must be at least 1", got=interfaces)
    networks = given.get("networks", ())
    count = interfaces or (declared.fabric.interfaces if declared.fabric else 0)
    if networks and name in {"tcpx", "tcpxo", "gke_rdma"} and len(networks) != count:
        yield Problem(
            "fabric.networks", f"must be {count}, one for each interface", got=len(networks)
        )
