"""MPIJob of both versions becomes a launcher and the nodes that it starts processes on."""

from typing import Any

import pytest

from tests.migrate.jobs import container_of, env_of, jobs_of, notes, pod, refusal, runtime_of, v1
from tests.migrate.jobs import spec_of as train_job_of

BETA = "v2beta1"
LAUNCHER = {"replicas": 1, "template": pod("main", command=["mpirun"], args=["-n", "2", "x"])}
WORKER = {"replicas": 2, "template": pod("main")}


def job_set(job: dict[str, Any]) -> Any:
    return runtime_of(job)["template"]["spec"]


def test_workers_run_an_ssh_server_and_the_launcher_ends_the_run() -> None:
    spec = {"slotsPerWorker": 4, "sshAuthMountPath": "/home/u/.ssh"}
    job = v1("MPIJob", BETA, spec=spec, Launcher=LAUNCHER, Worker=WORKER)
    assert train_job_of(job)["trainer"] == {
        "numNodes": 2,
        "numProcPerNode": 4,
        "command": ["mpirun"],
        "args": ["-n", "2", "x"],
    }
    assert runtime_of(job)["mlPolicy"] == {
        "numNodes": 1,
        "mpi": {
            "mpiImplementation": "OpenMPI",
            "sshAuthMountPath": "/home/u/.ssh",
            "runLauncherAsNode": False,
        },
    }
    whole = job_set(job)
    assert whole["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    assert whole["network"] == {"publishNotReadyAddresses": True}
    assert list(jobs_of(job)) == ["launcher", "node"]
    assert container_of(job)["command"] == ["/usr/sbin/sshd", "-De"]
    assert env_of(job) == {"K_MPI_JOB_ROLE": "worker"}
    assert env_of(job, "launcher") == {
        "K_MPI_JOB_ROLE": "launcher",
        "NVIDIA_VISIBLE_DEVICES": "",
        "NVIDIA_DRIVER_CAPABILITIES": "",
    }
    limits = {name: each["backoffLimit"] for name, each in jobs_of(job).items()}
    assert limits == {"launcher": 6, "node": 0}
    assert notes(job) == []


def test_a_launcher_that_waits_for_the_workers_depends_on_them() -> None:
    spec = {"launcherCreationPolicy": "WaitForWorkersReady"}
    job = v1("MPIJob", BETA, spec=spec, Launcher=LAUNCHER, Worker=WORKER)
    assert list(jobs_of(job)) == ["node", "launcher"]
    launcher = job_set(job)["replicatedJobs"][1]
    assert launcher["dependsOn"] == [{"name": "node", "status": "Ready"}]


def test_a_launcher_that_is_a_worker_is_a_node() -> None:
    spec = {"runLauncherAsWorker": True}
    job = v1("MPIJob", BETA, spec=spec, Launcher=LAUNCHER, Worker=WORKER)
    assert train_job_of(job)["trainer"]["numNodes"] == 3
    assert runtime_of(job)["mlPolicy"]["mpi"]["runLauncherAsNode"] is True
    assert env_of(job, "launcher") == {"K_MPI_JOB_ROLE": "launcher"}
    alone = v1("MPIJob", BETA, spec=spec, Launcher=LAUNCHER)
    assert list(jobs_of(alone)) == ["launcher"]
    assert train_job_of(alone)["trainer"]["numNodes"] == 1


def test_the_first_version_changes_from_kubectl_exec_to_ssh() -> None:
    main = pod("other")
    main["spec"]["containers"].append({"name": "chosen", "image": "i", "command": ["sleep", "9"]})
    worker = {"replicas": 1, "template": main}
    spec = {"mainContainer": "chosen", "cleanPodPolicy": "None"}
    job = v1("MPIJob", spec=spec, Launcher=LAUNCHER, Worker=worker)
    assert list(jobs_of(job)) == ["node", "launcher"]
    containers = jobs_of(job)["node"]["template"]["spec"]["containers"]
    assert [each["name"] for each in containers] == ["other", "node"]
    assert containers[1]["command"] == ["/usr/sbin/sshd", "-De"]
    assert notes(job) == [
        (
            "apiVersion: 'kubeflow.org/v1': started processes with kubectl exec, v2 does with SSH: "
            "the image needs sshd and ssh, and the command of mpirun must not choose another agent"
        ),
        (
            "spec.mpiReplicaSpecs.Worker.template.spec.containers.chosen.command: ['sleep', '9']: "
            "is replaced: a worker runs /usr/sbin/sshd -De"
        ),
        (
            "spec.cleanPodPolicy: 'None': pods that still run when the job has ended are ended, as "
            "with Running"
        ),
    ]


def test_what_v2_cannot_run_is_refused() -> None:
    intel = v1("MPIJob", BETA, spec={"mpiImplementation": "Intel"}, Launcher=LAUNCHER)
    assert refusal(intel) == [
        "spec.mpiImplementation: is not what v2 runs, got 'Intel'; build the image with OpenMPI"
    ]
    assert refusal(v1("MPIJob", BETA, Worker=WORKER)) == [
        "spec.mpiReplicaSpecs.Launcher: is required"
    ]
    assert refusal(v1("MPIJob", BETA, Launcher=LAUNCHER)) == [
        "spec.mpiReplicaSpecs.Worker: must have replicas"
    ]
    assert refusal(v1("MPIJob", BETA, Launcher={**LAUNCHER, "replicas": 2}, Worker=WORKER)) == [
        "spec.mpiReplicaSpecs.Launcher.replicas: must be 1, got 2"
    ]


def test_a_script_that_the_operator_wrote_is_told() -> None:
    elastic = ["horovodrun", "--host-discovery-script", "/etc/mpi/discover_hosts.sh", "t.py"]
    by_file = ["mpirun", "--hostfile", "/etc/mpi/hostfile", "t.py"]
    for command, told in ((elastic, 1), (by_file, 0)):
        launcher = {"replicas": 1, "template": pod("mpi", command=command)}
        found = notes(v1("MPIJob", "v2beta1", Launcher=launcher, Worker=2))
        assert [each.partition(": ")[0] for each in found if "script" in each] == [
            "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].command[2]"
        ] * told


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
@pytest.mark.parametrize(("limit", "expected"), [(3, 3), (0, 0), (None, 6)])
def test_a_launcher_of_v2beta1_is_tried_again_as_the_job_that_it_was(
    policy: str, limit: int | None, expected: int
) -> None:
    spec = {} if limit is None else {"runPolicy": {"backoffLimit": limit}}
    launcher = {**LAUNCHER, "restartPolicy": policy}
    job = v1("MPIJob", BETA, spec=spec, Launcher=launcher, Worker=WORKER)
    assert jobs_of(job)["launcher"]["backoffLimit"] == expected
    assert jobs_of(job)["launcher"]["template"]["spec"]["restartPolicy"] == policy
    assert [each for each in notes(job) if "restarts without end" in each] == []
