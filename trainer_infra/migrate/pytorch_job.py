"""PyTorchJob (kubeflow.org/v1) to nodes of a torch runtime.

Master and workers become the nodes, the master node 0. MASTER_ADDR, MASTER_PORT, WORLD_SIZE and
RANK, which v1 wrote, v2 leaves to torchrun. They are written into the runtime for a program that
torchrun does not start, and where a command line reads them before torchrun runs.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate import nodes, replica
from trainer_infra.migrate.migration import Note, Parts, V1Job
from trainer_infra.migrate.operator_names import with_hosts
from trainer_infra.migrate.replica import RANK_ENV, Defaults, Replica
from trainer_infra.render.command_lines.node_counts import STATIC
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.program_options import LauncherKind

DEFAULTS: Final = Defaults("pytorchReplicaSpecs", "pytorch", "OnFailure")
PORT_NAME: Final = "pytorchjob-port"
PORT: Final = 23456
STARTS: Final = ("torchrun", "torch.distributed.run")
"""Words after which the options of torchrun begin."""
TORCHRUN: Final = (LauncherKind.TORCHRUN, LauncherKind.TUNE)
"""Launchers that write the variables for what they start."""
OWN_PROCESSES: Final = "becomes trainer.numProcPerNode: operators before v1.7 took it, and later ones wrote nprocPerNode over it"
ELASTIC: Final = ("spec", "elasticPolicy")
NO_RANGE: Final = "is lost: the number of nodes is fixed, change it with trainer.numNodes"
LEAST: Final = "minReplicas"
LOST: Final = {
    LEAST: "is lost: write --nnodes=LEAST:NODES after torchrun, where the command starts it",
    "maxReplicas": NO_RANGE,
    "metrics": "is lost: v2 does not scale a running job",
}
"""Fields of the elastic policy without a counterpart."""


def pytorch_parts(job: V1Job) -> Parts:
    """What a PyTorchJob becomes.

    Raises:
        InvalidInput: It has no replicas, or containers that cannot be told apart.
    """
    found = nodes.read_nodes(job, DEFAULTS, "Master", "Worker")
    filled = replica.filled(names.TORCH_VARIABLES)
    policy: JSONObject = job.spec.get("elasticPolicy") or {}
    # The operator wrote those of the elastic policy last.
    written = str(policy.get("nProcPerNode", job.spec.get("nprocPerNode", "")))
    env = {each["name"]: each.get("value") for each in found.kept.container.get("env") or ()}
    own = env.get(names.PET_NPROC_PER_NODE) or ""
    if not written and own.isdecimal():
        written, filled = own, {**filled, names.PET_NPROC_PER_NODE: OWN_PROCESSES}
    # v1 counted those of nprocPerNode alone.
    number = job.spec.get("nprocPerNode", "")
    world = found.count * (int(number) if number.isdecimal() else 1)
    told = _variables(job, found, world)
    added = {"PYTHONUNBUFFERED": 1, **_elastic_env(job, found.kept), **told}
    framework = nodes.Framework("torch", added, filled)
    trainer = {"numProcPerNode": int(written)} if written.isdecimal() else {}
    ranged = _ranged(found, policy)
    notes = [*_nproc_notes(job), *_elastic_notes(job, found.count, has_range=bool(ranged))]
    if "WORLD_SIZE" in told:
        notes.append(nodes.fixed_parts(job, DEFAULTS, f"WORLD_SIZE={world}"))
    parts = nodes.node_parts(job, found, framework, trainer=trainer, notes=notes)
    return replace(parts, trainer={**parts.trainer, **ranged})


def _ranged(found: nodes.Nodes, policy: JSONObject) -> dict[str, Any]:
    """The words of a torchrun that stands in them, with the range of the policy; none where it does not.

    v1 gave it by a variable, which v2 overwrites.
    """
    least, words = policy.get(LEAST), replica.words(found.kept)
    if (
        not isinstance(least, int)
        or not 0 < least < found.count
        or policy.get("rdzvBackend") == STATIC
    ):
        return {}
    for key, part in replica.what_runs(found.kept).items():
        for at, word in enumerate(part):
            if word in STARTS and not any("nnodes" in each for each in words):
                option = f"--nnodes={least}:{found.count}"
                return {key: [*part[: at + 1], option, *part[at + 1 :]]}
    return {}


def _variables(job: V1Job, found: nodes.Nodes, world: int) -> dict[str, Any]:
    """Those that v1 wrote and the program reads; v1 wrote none where there is no master."""
    if found.first is None:
        return {}
    written = {
        "MASTER_ADDR": job.host(),
        "MASTER_PORT": found.kept.port(PORT_NAME, PORT),
        "WORLD_SIZE": world,
        "RANK": RANK_ENV,
    }
    words = replica.words(found.kept)
    if not any(each.kind in TORCHRUN for each in read_command_line(words).programs):
        return written
    named = set(re.findall(r"\w+", " ".join(words)))
    return {name: value for name, value in written.items() if name in named}


def _nproc_notes(job: V1Job) -> Iterator[Note]:
    written = job.spec.get("nprocPerNode", "auto")
    if written.isdecimal() or written == "auto":
        return
    advice = "is lost: v2 counts the GPUs that a node asks for, without any its processors; set "
    yield Note(("spec", "nprocPerNode"), written, f"{advice}trainer.numProcPerNode for another")


def _elastic_env(job: V1Job, workers: Replica) -> dict[str, Any]:
    """ContainerVariables that torchrun reads for what the policy says of the rendezvous."""
    policy: JSONObject | None = job.spec.get("elasticPolicy")
    if policy is None:
        return {}
    port = policy.get("rdzvPort", workers.port(PORT_NAME, PORT))
    host = with_hosts(job, policy.get("rdzvHost") or job.host())
    conf = ",".join(f"{each['key']}={each['value']}" for each in policy.get("rdzvConf") or ())
    found = {
        "PET_RDZV_BACKEND": policy.get("rdzvBackend", "c10d"),
        "PET_RDZV_ENDPOINT": f"{host}:{port}",
        "PET_RDZV_ID": policy.get("rdzvId"),
        "PET_RDZV_CONF": conf or None,
        "PET_STANDALONE": "" if policy.get("standalone") else None,
        "PET_MAX_RESTARTS": policy.get("maxRestarts"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _elastic_notes(job: V1Job, count: int, *, has_range: bool) -> Iterator[Note]:
    for name, value in (job.spec.get("elasticPolicy") or {}).items():
        if name in LOST and value != count and not (has_range and name == LEAST):
            yield Note((*ELASTIC, name), value, LOST[name])
