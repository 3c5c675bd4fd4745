"""gpu-fits-machine: one pod fits into a machine of some declared pool that it may run on."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.capacity import machines, requests
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Parameters, Rule


def _check(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    pools = context.world.pools
    _, too_much = machines.selected(place, pools)
    if too_much is not None:
        fix = f"use a label of one of the pools {', '.join(each.name for each in pools)}"
        yield too_much.finding("selects no machine of any declared pool", too_much.text(), fix)
    asked = requests.of(place)
    lacks = [(pool, _lacking(pool, asked)) for pool in machines.allowed(place, pools)]
    pool, lacking = min(lacks, key=lambda each: len(each[1]), default=(None, ()))
    if pool is not None:
        yield from (_finding(place, pool, resource, asked[resource]) for resource in lacking)


def _lacking(pool: Pool, asked: requests.Amounts) -> tuple[str, ...]:
    """Resources of which a pod asks for more than a machine has.

    A pool may leave out resources that it has, but not accelerators.
    """
    return tuple(
        name
        for name, amount in asked.items()
        if (name in pool.capacity or requests.is_accelerator(name))
        and amount > machines.amount(pool, name)
    )


def _finding(place: Pod, pool: Pool, resource: str, amount: Decimal) -> Finding:
    where, most = requests.where(place, resource), pool.capacity.get(resource, 0)
    fix = f"ask for at most {most} of {resource} on one node"
    what = (
        f"makes a pod of {requests.shown(amount, resource)} {resource}, which fits into no machine that it "
        f"may run on: one of pool {pool.name} has {most}"
    )
    return where.finding(what, where.raw, fix)


RULE: Final = Rule(
    id="gpu-fits-machine",
    title="Each pod fits into a machine that it may run on",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("capacity", "gpu"),
    why="The pod waits for ever, and with it the rest of the job, which may hold GPUs meanwhile.",
    fix="Ask for no more on one node than a machine has; use more nodes instead.",
    places=pods.of,
    check=_check,
)
