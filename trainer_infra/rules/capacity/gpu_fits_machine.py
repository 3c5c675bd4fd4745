"""gpu-fits-machine: one pod fits into a machine of some declared pool that it may run on."""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, machines, selectors
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    pools = context.world.pools
    selected = selectors.selected_pools(place, pools)
    if pools and not selected:
        label = selectors.excluding_label(place, pools)
        fix = f"use a label of one of the pools {', '.join(each.name for each in pools)}"
        got = label.raw if isinstance(label.raw, str) else None
        yield label.finding("selects no machine of any declared pool", got, fix)
    asked = amounts.amounts_of(place, context.subject) if selected else {}
    lacks = [(pool, machines.lacking_resources(pool, asked, pools)) for pool in selected]
    found = _judged(place, asked, lacks, context) if lacks else ()
    pool, lacking = min(found, key=lambda each: len(each[1]), default=(None, ()))
    if pool is not None:
        yield from (_finding(place, pool, resource, asked[resource]) for resource in lacking)


def _judged(
    pod: Pod,
    asked: amounts.Amounts,
    lacks: Sequence[tuple[Pool, Sequence[str]]],
    context: Context[Parameters],
) -> Sequence[tuple[Pool, Sequence[str]]]:
    """Of the selected pools those that let the pod in and have accelerators for it.

    Where there are none, but it would fit, its tolerations are wrong, which is another rule's.
    """
    usable = machines.usable_pools(pod, asked, context.subject, context.world)
    near = {id(each) for each in machines.with_accelerators(usable, asked)}
    if near or any(not lacking for _, lacking in lacks):
        return [each for each in lacks if id(each[0]) in near]
    return lacks


def _finding(place: Pod, pool: Pool, resource: str, amount: int) -> Finding:
    where, most = amounts.place(place, resource), pool.capacity.get(resource, 0)
    fix = f"ask for at most {most} of {resource} on one node"
    what = (
        f"makes a pod of {amounts.amount_text(resource, amount)} {resource}, which fits into no machine "
        f"that it may run on: one of pool {pool.name} has {most}"
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
    places=pods.pods_of,
    check=_check,
    looks_around=True,
)
