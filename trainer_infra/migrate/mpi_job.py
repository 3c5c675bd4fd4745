"""MPIJob (kubeflow.org/v1 and v2beta1) to the launcher and the nodes of an MPI runtime.

Workers become the job `node`, the launcher the job `launcher`, whose end is the end of the run. The
operator of v2beta1 used SSH as v2 does; the one of v1 `kubectl exec`.
"""

from collections.abc import Iterator
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.migrate import replica
from trainer_infra.migrate.fields import V1
from trainer_infra.migrate.migration import Note, Parts, V1Job
from trainer_infra.migrate.replica import Defaults, Replica
from trainer_infra.render.plugins.mpi import MOUNT_PATH, OF_OPEN_MPI_5, OPEN_MPI, RESERVED

FIELD: Final = "mpiReplicaSpecs"
SERVER: Final = ("/usr/sbin/sshd", "-De")
ROLE: Final = "K_MPI_JOB_ROLE"
NO_GPU: Final = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
"""Keeps GPUs away from a launcher that is not a worker."""
FILLED: Final = replica.filled((*RESERVED, *OF_OPEN_MPI_5))
SSH_ADVICE: Final = (
    "started processes with kubectl exec, v2 does with SSH: the image needs sshd and ssh, and the "
    "command of mpirun must not choose another agent"
)


def mpi_parts(job: V1Job) -> Parts:
    """What an MPIJob becomes.

    Raises:
        InvalidInput: It has no launcher, no workers, or another MPI than Open MPI.
    """
    launcher, workers = _read(job)
    limit = job.run_policy.backoff_limit
    as_node = bool(job.spec.get("runLauncherAsWorker"))
    jobs = [_job(job, launcher, limit, as_node=as_node)]
    if workers:
        jobs.append(_server(job, workers, limit))
    # Whether the launcher starts when the workers are ready; in v1 it always did.
    if workers and (
        job.api_version == V1 or job.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
    ):
        after = {"dependsOn": [{"name": names.NODE, "status": "Ready"}]}
        jobs = [jobs[1], {"name": names.LAUNCHER, **after, "template": jobs[0]["template"]}]
    pods = (workers.replicas if workers else 0) + 1
    mpi = {
        "mpiImplementation": OPEN_MPI,
        "sshAuthMountPath": job.spec.get("sshAuthMountPath") or MOUNT_PATH,
        "runLauncherAsNode": as_node,
    }
    return Parts(
        framework="mpi",
        ml_policy={"mpi": mpi},
        jobs=tuple(jobs),
        trainer={
            "numNodes": pods if as_node else pods - 1,
            "numProcPerNode": job.spec.get("slotsPerWorker", 1),
            **replica.what_runs(launcher),
        },
        pods=pods,
        job_set={
            "network": {"publishNotReadyAddresses": True},
            "successPolicy": {"operator": "All", "targetReplicatedJobs": [names.LAUNCHER]},
        },
        notes=tuple(_notes(job, launcher, workers)),
    )


def _read(job: V1Job) -> tuple[Replica, Replica | None]:
    """The launcher, and the workers unless the launcher is the only one."""
    implementation = job.spec.get("mpiImplementation", OPEN_MPI)
    if implementation != OPEN_MPI:
        what, fix = "is not what v2 runs", f"build the image with {OPEN_MPI}"
        raise InvalidInput([Problem("spec.mpiImplementation", what, implementation, fix)])
    old = job.api_version == V1
    main = job.spec.get("mainContainer") or ("mpi" if old else "")
    policy = replica.NEVER if old else replica.ON_FAILURE
    launcher = replica.read_replica(job, "Launcher", Defaults(FIELD, main, policy))
    if launcher is None:
        raise InvalidInput([Problem(f"spec.{FIELD}.Launcher", "is required")])
    if launcher.replicas != 1:
        what = f"spec.{FIELD}.Launcher.replicas"
        raise InvalidInput([Problem(what, "must be 1", launcher.replicas)])
    workers = replica.read_replica(job, "Worker", Defaults(FIELD, main, replicas=0))
    if workers is None or not workers.replicas:
        if not job.spec.get("runLauncherAsWorker"):
            raise InvalidInput([Problem(f"spec.{FIELD}.Worker", "must have replicas")])
        return launcher, None
    return launcher, workers


def _job(job: V1Job, launcher: Replica, limit: int | None, *, as_node: bool) -> dict[str, Any]:
    """The launcher, which the operator of v2beta1 ran as a Job, and the one of v1 as a pod."""
    env = {ROLE: names.LAUNCHER, **({} if as_node else NO_GPU)}
    template, was_a_job = replica.node_template(launcher, env, FILLED), job.api_version != V1
    spec = replica.job_spec(launcher, limit, template, was_a_job=was_a_job)
    metadata = {"labels": {names.ANCESTOR_LABEL: names.TRAINER}}
    return {"name": names.LAUNCHER, "template": {"metadata": metadata, "spec": spec}}


def _server(job: V1Job, workers: Replica, limit: int | None) -> dict[str, Any]:
    """The job of the workers, which run an SSH server."""
    template = replica.node_template(workers, {ROLE: "worker"}, ())
    runs = replica.what_runs(workers)
    if job.api_version == V1 or not runs:
        runs = {"command": list(SERVER)}
    template["spec"]["containers"] = [
        {**each, **runs} if each["name"] == names.NODE else each
        for each in template["spec"]["containers"]
    ]
    return {"name": names.NODE, "template": {"spec": replica.job_spec(workers, limit, template)}}


def _notes(job: V1Job, launcher: Replica, workers: Replica | None) -> Iterator[Note]:
    limit = job.run_policy.backoff_limit
    if job.api_version == V1:
        yield Note(("apiVersion",), V1, SSH_ADVICE)
    for each in filter(None, (launcher, workers)):
        was_a_job = each is launcher and job.api_version != V1
        yield from replica.restart_notes(each, limit, was_a_job=was_a_job)
        yield from each.notes
    yield from replica.filled_notes(launcher, FILLED)
    if job.api_version == V1 and workers:
        path = (*workers.template_path, "spec", "containers", workers.main)
        for key, value in replica.what_runs(workers).items():
            yield Note((*path, key), value, f"is replaced: a worker runs {' '.join(SERVER)}")
