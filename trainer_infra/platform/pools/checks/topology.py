"""Levels of the topology, as Kueue's Topology takes them, and whether Kueue sees machines at all."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.catalog.machine_types import HOSTNAME
from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import Declaration

_MOST: Final = 16
"""Levels of a Topology."""


def problems_of_topology(declared: Declaration) -> Iterator[Problem]:
    """Problems of `topology` and `domain_nodes`."""
    levels = declared.levels
    for each in dict.fromkeys(levels):
        if levels.count(each) > 1:
            yield Problem("topology", "has a level more than once", got=each)
    if HOSTNAME in levels[:-1]:
        what = f"has {HOSTNAME} above another level: a node is the smallest domain"
        yield Problem("topology", what, fix="write it last")
    if len(levels) > _MOST:
        yield Problem("topology", f"has more than {_MOST} levels", got=len(levels))
    yield from _unseen_machines(declared)
    for label, count in declared.args.get("domain_nodes", {}).items():
        if label not in levels:
            yield Problem(
                f"domain_nodes.{label}", "is no level of the topology", fix="write it there"
            )
        if count < 1:
            yield Problem(f"domain_nodes.{label}", "must be a whole number, 1 or more", got=count)


def _unseen_machines(declared: Declaration) -> Iterator[Problem]:
    if not declared.levels:
        return
    if not declared.queues:
        yield Problem(
            "topology", "is Kueue's, and queueing is False", fix="leave one of the two out"
        )
    elif not declared.keeps_nodes:
        what = (
            "places jobs on machines that are there, and this pool keeps none: Kueue would admit "
            "nothing to it"
        )
        fix = "say nodes.replicas" if declared.backend == "karpenter" else "say nodes.min"
        yield Problem("topology", what, fix=f"{fix}, provisioning_class=, or topology=[]")
