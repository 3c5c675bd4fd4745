"""Who installs what on a cluster's machines, as far as one program says: two of them destroy each other."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pulumi

from trainer_infra.deploy.program_value import ProgramValue
from trainer_infra.errors import InvalidInput, Problem

_GKE: Final = ("gke", "gke_compute_class")
"""Backends whose cloud runs a device plugin of its own."""


@dataclass(frozen=True, slots=True)
class DriverClaim:
    """A DeviceDriver."""

    name: str
    kind: str
    installs_driver: bool


@dataclass(frozen=True, slots=True)
class PoolClaim:
    """What a pool says of its driver."""

    name: str
    backend: str
    driver: str


@dataclass(slots=True)
class _ClusterClaims:
    drivers: list[DriverClaim] = field(default_factory=list)
    pools: list[PoolClaim] = field(default_factory=list)


_CLAIMS: Final = ProgramValue(_ClusterClaims)


def claim_driver(component: pulumi.Resource, claim: DriverClaim) -> None:
    """Remember the DeviceDriver that a component is; its provider says which cluster it is for.

    Raises:
        InvalidInput: The cluster has another one, or a pool that it does not go with.
    """
    claims = _CLAIMS.of(component.get_provider("kubernetes::"))
    fix = "keep one of the two"
    problems = [
        Problem("", f"the cluster has the DeviceDriver {each.name} already", fix=fix)
        for each in claims.drivers
    ]
    problems += [found for pool in claims.pools for found in _conflicts(claim, pool)]
    if problems:
        raise InvalidInput(problems)
    claims.drivers.append(claim)


def claim_pool(component: pulumi.Resource, claim: PoolClaim) -> None:
    """Remember the pool that a component is; its provider says which cluster it is of.

    Raises:
        InvalidInput: The cluster has a DeviceDriver that it does not go with.
    """
    claims = _CLAIMS.of(component.get_provider("kubernetes::"))
    if problems := [found for each in claims.drivers for found in _conflicts(each, claim)]:
        raise InvalidInput(problems)
    claims.pools.append(claim)


def _conflicts(driver: DriverClaim, pool: PoolClaim) -> Iterator[Problem]:
    of_pool, of_driver = f"pool {pool.name}", f"DeviceDriver {driver.name}"
    if pool.driver not in {"managed", "none", driver.kind}:
        what = f"{of_pool} has the driver {pool.driver}, and {of_driver} is a {driver.kind}"
        yield Problem("driver", what, fix=f"say driver={driver.kind!r} of the pool")
    elif pool.driver == "managed" and driver.installs_driver:
        what = f"the cloud installs the driver of {of_pool}, and {of_driver} installs another"
        fix = f"say driver={driver.kind!r} of the pool, or has_driver=True"
        yield Problem("driver", what, fix=fix)
    elif pool.driver == "managed" and pool.backend in _GKE and driver.kind != "dra_driver":
        what = f"GKE runs a device plugin on {of_pool}, and {of_driver} runs another"
        yield Problem("driver", what, fix=f"say driver={driver.kind!r} of the pool")
