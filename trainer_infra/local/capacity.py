"""What a run asks for and this machine does not have: warnings, for it runs all the same.

Nothing is reserved here: processes take turns on the processors, and see the accelerators that the machine
has. The sentences name no run, so that a batch says each once.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from trainer_infra.api import quantity
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import replicated_job

PODS_PER_PROCESSOR: Final = 32
"""More pods than that, which are processes, and their supervisor does nothing else than look at them."""
DEVICES: Final[Mapping[str, str]] = {
    "nvidia.com/gpu": "nvidia[0-9]*",
    "amd.com/gpu": "dri/renderD*",
    "google.com/tpu": "accel[0-9]*",
}
"""Files of the accelerators below /dev, by the resource that asks for one."""
_GIBI: Final = 1024**3


@dataclass(frozen=True, slots=True)
class Machine:
    """What a machine has."""

    processors: int
    memory: int
    """Bytes."""
    devices: Mapping[str, int]
    """How many, by resource."""

    @staticmethod
    def here() -> "Machine":
        """This one."""
        devices = {name: len(list(Path("/dev").glob(files))) for name, files in DEVICES.items()}
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return Machine(os.cpu_count() or 1, memory, devices)


def capacity_warnings(objects: Sequence[JSONObject], machine: Machine) -> Iterator[str]:
    """A sentence for each thing of which the objects ask for more than the machine has."""
    wanted = list(demands(objects))
    pods = sum(count for count, _ in wanted)
    most = machine.processors * PODS_PER_PROCESSOR
    if pods > most:
        yield (
            f"{pods:,} pods are as many processes on the {machine.processors} processors of "
            f"this machine, which has room for some {most}; lower numNodes for this target"
        )
    asked = defaultdict[str, Decimal](Decimal)
    for count, pod in wanted:
        for name, amount in _of_pod(pod):
            asked[name] += amount * count
    for name, amount in asked.items():
        yield from _lacking(name, amount.normalize(), machine)


def demands(objects: Sequence[JSONObject]) -> Iterator[tuple[int, JSONObject]]:
    """How many pods there are of each replicated job, and the spec of one."""
    for each in objects:
        if each["kind"] == "JobSet":
            for job in replicated_job.read_jobs(each["spec"]):
                yield job.replicas * job.parallelism, job.pod_spec


def _lacking(name: str, amount: Decimal, machine: Machine) -> Iterator[str]:
    """A sentence where all pods of a run ask for more of a resource than there is."""
    there = machine.devices.get(name, 0)
    if name == "cpu" and amount > machine.processors:
        yield (
            f"{amount:f} CPUs requested in all, and this machine has {machine.processors}: the "
            "processes take turns"
        )
    elif name == "memory" and amount > machine.memory:
        yield (
            f"{amount / _GIBI:.1f}Gi of memory requested in all, and this machine has "
            f"{machine.memory / _GIBI:.1f}Gi: the kernel may end processes"
        )
    elif "/" in name and amount > there:
        what = f"the processes share {there}" if there else "the processes run without"
        yield f"{amount:f} {name} requested in all, and this machine has {there}: {what}"


def _of_pod(pod: JSONObject) -> Iterator[tuple[str, Decimal]]:
    """Resource and amount of each request; a limit is one where there is no request."""
    for container in pod.get("containers") or ():
        resources = container.get("resources") or {}
        wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in wanted.items():
            yield name, quantity.parse_quantity(amount)
