"""PyTorchJob (kubeflow.org/v1) to nodes of a torch runtime.

Called by `migrate`. Master and workers become the nodes, the master node 0. A program that is not
started by torchrun reads MASTER_ADDR, WORLD_SIZE and RANK, which v1 wrote and v2 leaves to
torchrun: those are written into the runtime.
"""

from collections.abc import Iterator
from typing import Any, Final

from trainer_infra.migrate import nodes, replica
from trainer_infra.migrate.migration import JSON, Note, Parts, V1Job
from trainer_infra.migrate.replica import RANK_ENV, Defaults, Replica

DEFAULTS: Final = Defaults("pytorchReplicaSpecs", "pytorch", "OnFailure")
PORT_NAME: Final = "pytorchjob-port"
PORT: Final = 23456
TORCHRUN: Final = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate")
"""Words of a command line that starts a launcher, which writes the variables itself."""
ELASTIC: Final = ("spec", "elasticPolicy")
NO_RANGE: Final = "is lost: the number of nodes is fixed, change it with trainer.numNodes"
LOST: Final = {
    "minReplicas": NO_RANGE,
    "maxReplicas": NO_RANGE,
    "metrics": "is lost: v2 does not scale a running job",
}
"""Fields of the elastic policy without a counterpart."""


def parts(job: V1Job) -> Parts:
    """What a PyTorchJob becomes.

    Raises:
        InvalidInput: It has no replicas, or containers that cannot be told apart.
    """
    found = nodes.read(job, DEFAULTS, "Master", "Worker")
    launched = any(each in replica.words(found.kept) for each in TORCHRUN)
    by_hand = found.first is not None and not launched
    env = {"PYTHONUNBUFFERED": 1, **_elastic_env(job, found.kept)}
    world = found.count * (_processes(job) or 1)
    if by_hand:
        env |= {
            "MASTER_ADDR": job.host(),
            "MASTER_PORT": found.kept.port(PORT_NAME, PORT),
            "WORLD_SIZE": world,
            "RANK": RANK_ENV,
        }
    told = (nodes.fixed(job, DEFAULTS, f"WORLD_SIZE={world}"),) if by_hand else ()
    processes = _processes(job)
    return nodes.parts(
        job,
        found,
        nodes.Framework("torch", {"torch": {}}, env),
        trainer={} if processes is None else {"numProcPerNode": processes},
        notes=(*_nproc_notes(job), *_elastic_notes(job), *told),
    )


def _processes(job: V1Job) -> int | None:
    """Processes per node where a number was written."""
    written = job.spec.get("nprocPerNode", "")
    number: int | None = (job.spec.get("elasticPolicy") or {}).get("nProcPerNode")
    return int(written) if written.isdecimal() else number


def _nproc_notes(job: V1Job) -> Iterator[Note]:
    written = job.spec.get("nprocPerNode", "auto")
    if written.isdecimal() or written == "auto":
        return
    advice = "is lost: v2 counts the GPUs that a node asks for, without any its processors; set "
    yield Note(("spec", "nprocPerNode"), written, f"{advice}trainer.numProcPerNode for another")


def _elastic_env(job: V1Job, workers: Replica) -> dict[str, Any]:
    """Variables that torchrun reads for what the policy says of the rendezvous."""
    policy: JSON | None = job.spec.get("elasticPolicy")
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
