"""What a policy pack adds to a preview and an `up` of TrainJobs, on a real API server.

No pack, an empty one and ours, one after the other, because Pulumi itself takes seconds for any. What our
pack adds to a resource is small beside that, so its process also counts its own processor time, start-up
apart. The TrainJobs are suspended and there are no nodes: no pods take part.
"""

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from from_source.cluster import apiserver
from tools.bench import project

RESOURCES: Final = 200
TRAIN_JOBS: Final = f"""
from trainer_infra import TrainJob
for index in range({RESOURCES}):
    TrainJob(f"job-{{index}}", runtime="jax-distributed", suspend=True,
             trainer={{"command": ["python", "-c", f"print({{index}})"], "numNodes": 2}})
"""
_PROJECT: Final = f"""\
name: measured
runtime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}
"""
_EMPTY: Final = """\
from pulumi_policy import PolicyPack, ResourceValidationPolicy
PolicyPack("empty", [ResourceValidationPolicy("nothing", "nothing", lambda args, report: None)])
"""
_OURS: Final = """\
import time
from pathlib import Path

from trainer_infra.crossguard import policy_pack, server
from trainer_infra.rules import packs

class Measured(server.Servicer):
    rules = 0.0

    def GetAnalyzerInfo(self, request, context):
        answer = super().GetAnalyzerInfo(request, context)
        self.begun = time.process_time()
        return answer

    def Analyze(self, request, context):
        before = time.thread_time()
        answer = super().Analyze(request, context)
        self.rules += time.thread_time() - before
        return answer

    def AnalyzeStack(self, request, context):
        before = time.thread_time()
        answer = super().AnalyzeStack(request, context)
        self.rules += time.thread_time() - before
        used = time.process_time()
        Path(__file__).with_name("used").write_text(f"{self.begun} {used} {self.rules}")
        return answer

server.Servicer = Measured
policy_pack.serve_pack(packs.TRAINING)
"""
_COMMANDS: Final = {
    "preview of TrainJobs": ("preview",),
    "up of TrainJobs": ("up", "--yes", "--skip-preview"),
}


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a run of the CLI cost, with all processes that it started."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of all processors, which other work on the machine changes less."""
    start: float = 0
    """Of these the pack's process, until it was ready."""
    pack: float = 0
    """Of these the pack's process, from then on."""
    rules: float = 0
    """Of these in its answers: the rest is gRPC, which an empty pack pays as well."""


def measured_packs(folder: Path, rounds: int) -> dict[str, float]:
    """The medians, and what each resource costs more with the next of the packs.

    Args:
        folder: where packs are written.
        rounds: of each.
    """
    packs: dict[str, Path | None] = {
        "no pack": None,
        "an empty pack": _pack(folder / "empty", _EMPTY),
        "our pack": _pack(folder / "ours", _OURS),
    }
    measured: dict[str, float] = {}
    for what, command in _COMMANDS.items():
        found: dict[str, list[_Cost]] = {name: [] for name in packs}
        for index in range(rounds):
            for name, pack in packs.items():
                found[name].append(_cost(command, pack))
            # It takes minutes: the reader sees that it goes on.
            print(f"{what}, round {index + 1} of {rounds}", file=sys.stderr, flush=True)
        measured |= _told(what, found)
    return measured


def _pack(folder: Path, program: str) -> Path:
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text(_PROJECT)
    (folder / "__main__.py").write_text(program)
    return folder


def _cost(command: tuple[str, ...], pack: Path | None) -> _Cost:
    """What a command costs in a project and on a server of its own; it leaves nothing behind."""
    arguments = () if pack is None else ("--policy-pack", str(pack))
    with apiserver.running() as (_, kubeconfig):
        configuration = {"target": "kubernetes", "kubeconfig": str(kubeconfig)}
        with project.made(configuration) as stack:
            stack.program(TRAIN_JOBS)
            took = stack.took(*command, *arguments)
    if pack is None or not (pack / "used").exists():
        return _Cost(took.wall, took.processor)
    begun, used, rules = map(float, (pack / "used").read_text().split())
    return _Cost(took.wall, took.processor, begun, used - begun, rules)


def _told(what: str, found: Mapping[str, Sequence[_Cost]]) -> dict[str, float]:
    measured: dict[str, float] = {}
    *_, of_ours = found.values()
    for kind, unit in (("wall", "seconds"), ("processor", "CPU seconds")):
        costs = {pack: _median(every, kind) for pack, every in found.items()}
        for pack, cost in costs.items():
            measured[f"{what}: {RESOURCES} with {pack}, {unit}"] = round(cost, 2)
        none, empty, ours = costs.values()
        adds = {"an empty pack adds": empty - none, "our rules add": ours - empty}
        for which, cost in adds.items():
            measured[f"{what}: {which} to each, {unit}"] = round(cost / RESOURCES, 4)
    measured[f"{what}: our pack's start, CPU seconds"] = round(_median(of_ours, "start"), 2)
    for which, kind in (("process", "pack"), ("rules", "rules")):
        each = 1000 * _median(of_ours, kind) / RESOURCES
        measured[f"{what}: our pack's {which} for each, CPU milliseconds"] = round(each, 2)
    return measured


def _median(every: Sequence[_Cost], kind: str) -> float:
    found: list[float] = [getattr(each, kind) for each in every]
    return statistics.median(found)
