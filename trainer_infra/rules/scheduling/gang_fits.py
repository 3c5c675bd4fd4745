"""gang-fits: the pods that run at the same time find place on the declared machines.

Two things are proved, of the least that is asked for: each replicated job has room on the pools
that it may use, whole pods on each machine; and all of them together do not ask for more of a
resource than those pools have. A pod that fits no machine at all is left to `gpu-fits-machine`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import amounts, machines, nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole


@dataclass(frozen=True, slots=True)
class GangMember:
    """The pods of one replicated job, and the machines that they may use."""

    pod: Pod
    """One of them."""
    count: int
    """How many there are."""
    asked: Mapping[str, int]
    """What one asks for, in billionths."""
    rooms: Sequence[tuple[Pool, int | None]]
    """The pools, and how many pods one machine takes; None where nothing limits it."""

    @property
    def room(self) -> int | None:
        """How many find place; None where nothing limits it, or none fits any machine."""
        found = [(pool.nodes, each) for pool, each in self.rooms]
        if not found or any(each is None for _, each in found):
            return None
        return sum(count * (each or 0) for count, each in found)

    @property
    def pools(self) -> Sequence[Pool]:
        """The pools."""
        return [pool for pool, _ in self.rooms]


def _check(_place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    if not context.world.pools:
        return
    subject = context.subject
    members = [_member(pod, context) for pod in nodes.pods_together(subject)]
    short = [each for each in members if each.room is not None and each.room < each.count]
    for each in short:
        pools = ", ".join(pool.name for pool in each.pools)
        what = f"makes more pods than the {each.room} that find place at a time in pool {pools}"
        fix = f"use at most {each.room} pods, or add machines"
        yield nodes.count_place(each.pod, subject).finding(what, each.count, fix)
    if not short:
        yield from _of_all(members, context)


def _member(pod: Pod, context: Context[Parameters]) -> GangMember:
    world, asked = context.world, amounts.amounts_of(pod, context.subject)
    every = world.pools
    usable = machines.usable_pools(pod, asked, context.subject, world)
    rooms = [(pool, machines.per_machine(pool, asked, every)) for pool in usable]
    return GangMember(pod, nodes.count(pod), asked, [each for each in rooms if each[1] != 0])


def _of_all(members: Sequence[GangMember], context: Context[Parameters]) -> Iterator[Finding]:
    """Resources of which all together ask for more than there is."""
    if not all(each.rooms for each in members):
        return
    every = context.world.pools
    declared = dict.fromkeys(resource for pool in every for resource in pool.capacity)
    for resource in declared:
        users = [each for each in members if each.asked.get(resource)]
        pools = {id(pool): pool for each in users for pool in each.pools}.values()
        asked = sum(each.asked[resource] * each.count for each in users)
        each_has = [(pool.nodes, machines.amount(pool, resource, every)) for pool in pools]
        there = sum(count * (each or 0) for count, each in each_has)
        if users and asked > there and all(each is not None for _, each in each_has):
            most = max(users, key=lambda each: each.asked[resource] * each.count)
            what = (
                f"makes {amounts.amount_text(resource, asked)} {resource} of all pods at a time, and the pools "
                f"that they may use have {amounts.amount_text(resource, max(0, there))}"
            )
            place = nodes.count_place(most.pod, context.subject)
            yield place.finding(what, most.count, "use fewer, or add machines")
            return


RULE: Final = Rule(
    id="gang-fits",
    title="Pods that run together find place together",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "gpu"),
    why=(
        "Training starts only when all its nodes run: with too few machines a gang is never placed, "
        "and without a gang scheduler some nodes hold their GPUs and wait for the others."
    ),
    fix="Use fewer nodes, ask for less, or add machines to the pool.",
    places=whole,
    check=_check,
    looks_around=True,
)
