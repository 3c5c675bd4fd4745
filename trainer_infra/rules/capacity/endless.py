"""Many GPUs that nothing takes back: jobs without a deadline, by how much they hold."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from trainer_infra.rules.capacity import cost, job_end
from trainer_infra.rules.placement import amounts, nodes, patches
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject

_DAY: Final = 24
_NETWORK: Final = re.compile(
    r"compute-domain|dranet|rdma|sriov|infiniband|(?<![a-z])(efa|hca|nics?|net)(?![a-z])"
)
"""In the name of a DeviceClass: its devices are no accelerators."""
Holders = tuple[tuple[Pod, Decimal | None], ...]
"""Pods with devices, and for how many hours at most; None without an end."""


class EndlessGpus(Parameters):
    """How much may be held without an end."""

    gpus: int = 16
    """From how many GPUs at a time on a job must have a deadline."""
    days: int = 366
    """The longest time that counts as one, restarts and all."""


class ManyEndlessGpus(EndlessGpus):
    """How much may be held without an end, in no case more."""

    gpus: int = 512
    """From how many GPUs at a time on a job must have a deadline."""


def _places(subject: Subject) -> Iterator[Holders]:
    found = subject.once(amounts.pods_with_devices)
    if found:
        patches.be_known(subject)
        yield tuple((each, cost.hours_of(subject, each)) for each in found)


def _check(holders: Holders, context: Context[EndlessGpus]) -> Iterator[Finding]:
    subject, given, held = context.subject, context.parameters, 0
    for pod, hours in holders:
        if hours is None or hours > given.days * _DAY:
            held += nodes.count(pod) * _gpus(pod, context)
    if held >= given.gpus:
        where = cost.deadline_place(subject)
        until = f"for more than {given.days} days" if where.is_there() else "without an end"
        what = f"lets the job hold {held} accelerators {until}"
        yield where.finding(what, where.raw, job_end.ADD_DEADLINE)


def _gpus(pod: Pod, context: Context[EndlessGpus]) -> int:
    """Accelerators of one pod, of device plugins or of claims."""
    subject = context.subject
    claimed = amounts.claimed_devices(pod, subject, context.world)
    devices = sum(count for name, count in claimed.items() if not _NETWORK.search(name))
    return devices + amounts.accelerators(amounts.amounts_of(pod, subject)) // amounts.ONE


ENDLESS_GPUS: Final = Rule(
    id="endless-gpus",
    title="A job of many GPUs must have a deadline",
    severity=Severity.MEDIUM,
    kinds=cost.ENDING,
    tags=("capacity", "gpu", "cost"),
    why="A program that hangs holds all of them until a person notices, and the bill is for that time.",
    fix="Set `spec.activeDeadlineSeconds`, or that of the Jobs of a JobSet.",
    places=_places,
    check=_check,
    looks_around=True,
    parameters=EndlessGpus,
)
MANY_ENDLESS_GPUS: Final = replace(
    ENDLESS_GPUS,
    id="many-endless-gpus",
    title="A job of very many GPUs must have a deadline",
    severity=Severity.HIGH,
    parameters=ManyEndlessGpus,
)
"""A deadline is what `cost` counts as an end: that of the TrainJob, of the Job or of the pod, as long as
restarts are counted. `deadline` asks for one of every TrainJob.
"""
