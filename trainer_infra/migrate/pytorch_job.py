"""PyTorchJob (kubeflow.org/v1) to nodes of a torch runtime.

Master and workers become the nodes, the master node 0. MASTER_ADDR, MASTER_PORT, WORLD_SIZE and
RANK, which v1 wrote, v2 leaves to torchrun. They are written into the runtime for a program that
torchrun does not start, and where a command line reads them before torchrun runs.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from trainer_infra.json_values import JSONObject
from trainer_infra.migrate import nodes, replica
from trainer_infra.migrate.migration import Note, Parts, V1Job
from trainer_infra.migrate.replica import RANK_ENV, Defaults, Replica
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.program_options import LauncherKind

DEFAULTS: Final = Defaults("pytorchReplicaSpecs", "pytorch", "OnFailure")
PORT_NAME: Final = "pytorchjob-port"
PORT: Final = 23456
TORCHRUN: Final = (LauncherKind.TORCHRUN, LauncherKind.TUNE)
"""Launchers that write the variables for what they start."""
ELASTIC: Final = ("spec", "elasticPolicy")
NO_RANGE: Final = "is lost: the number of nodes is fixed, change it with trainer.numNodes"
LOST: Final = {
    "minReplicas": NO_RANGE,
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
    # Processes per node where a number was written.
    written = job.spec.get("nprocPerNode", "")
    number: int | None = (job.spec.get("elasticPolicy") or {}).get("nProcPerNode")
    processes = int(written) if written.isdecimal() else number
    world = found.count * (processes or 1)
    told = _variables(job, found, world)
    env = {"PYTHONUNBUFFERED": 1, **_elastic_env(job, found.kept), **told}
    fixed = nodes.fixed_parts(job, DEFAULTS, f"WORLD_SIZE={world}")
    framework = nodes.Framework("torch", {"torch": {}}, env)
    trainer = {} if processes is None else {"numProcPerNode": processes}
    notes = (*_nproc_notes(job), *_elastic_notes(job), *([fixed] if "WORLD_SIZE" in told else ()))
    return nodes.node_parts(job, found, framework, trainer=trainer, notes=notes)


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
    conf = ",".join(f"{each['key']}={each['value']}" for each in policy.get("rdzvConf") or ())
    found = {
        "PET_RDZV_BACKEND": policy.get("rdzvBackend", "c10d"),
        "PET_RDZV_ENDPOINT": f"{policy.get('rdzvHost', job.host())}:{port}",
        "PET_RDZV_ID": policy.get("rdzvId"),
        "PET_RDZV_CONF": conf or None,
        "PET_STANDALONE": "" if policy.get("standalone") else None,
        "PET_MAX_RESTARTS": policy.get("maxRestarts"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _elastic_notes(job: V1Job) -> Iterator[Note]:
    for name, value in (job.spec.get("elasticPolicy") or {}).items():
        if name in LOST:
            yield Note((*ELASTIC, name), value, LOST[name])
