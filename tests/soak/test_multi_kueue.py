"""MultiKueue over three API servers: a job of the manager's queue runs on the worker that has room.

Each server has a Kueue of its own, and for TrainJobs our controller. None has nodes or JobSet's controller, so
the test says on the worker that the job is done, as that controller would.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.controller_process import ControllerProcess
from tests.deploy.project import Stack, new_cli_stack
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from tests.soak.lone_kueue import LoneCluster, lone_cluster
from tests.soak.pool import GPU, GPUS, Team, job_set
from trainer_infra import catalog, names

PROGRAM = """
import pulumi
from trainer_infra import platform

config = pulumi.Config("queues")
flavor = platform.ResourceFlavor("any")
workers = platform.MultiKueue(
    "everywhere",
    workers={name: {"kubeconfig": config.require_secret(name)} for name in ("east", "west")},
    expects={"namespaces": ["vision"], "local_queues": ["vision/team"]},
)
vision = platform.ClusterQueue(
    "vision", quota={flavor: {"nvidia.com/gpu": 64}}, admission_checks=[workers]
)
platform.LocalQueue("team", namespace="vision", cluster_queue=vision)
"""
VISION = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}


def kueue_object(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": "vision"} if kind == "LocalQueue" else {})
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def queues(gpus: int) -> tuple[dict[str, Any], ...]:
    """Of a worker, as its own people make them."""
    resource = {"name": GPU, "nominalQuota": str(gpus)}
    flavor = {"name": "any", "resources": [resource]}
    group = {"coveredResources": [GPU], "flavors": [flavor]}
    return (
        kueue_object("ResourceFlavor", "any"),
        kueue_object("ClusterQueue", "vision", namespaceSelector={}, resourceGroups=[group]),
    )


@pytest.fixture
def clusters() -> Iterator[dict[str, LoneCluster]]:
    with ExitStack() as stack:
        made = {each: stack.enter_context(lone_cluster()) for each in ("manager", "east", "west")}
        for each in made.values():
            each.create(VISION)
        # The eastern one is too small for a job of two nodes.
        for name, gpus in (("east", GPUS), ("west", 2 * GPUS)):
            made[name].create(*queues(gpus))
        yield made


@pytest.fixture
def manager_stack(
    tmp_path: Path, pulumi_env: dict[str, str], clusters: dict[str, LoneCluster]
) -> Stack:
    kubeconfig = str(clusters["manager"].server.kubeconfig)
    stack = new_cli_stack(tmp_path / "queues", {**pulumi_env, "KUBECONFIG": kubeconfig})
    (stack.folder / "__main__.py").write_text(PROGRAM)
    for name in ("east", "west"):
        stack.run("config", "set", "--secret", name, clusters[name].kubeconfig())
    return stack


def conditions(value: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in value.get("status", {}).get("conditions", ())}


@pytest.fixture
def spaces(manager_stack: Stack, clusters: dict[str, LoneCluster]) -> dict[str, Namespace]:
    """The team's namespace of each cluster, once the queues are connected."""
    found = {name: each.namespace("vision") for name, each in clusters.items()}
    clusters["east"].create(kueue_object("LocalQueue", "team", clusterQueue="vision"))
    printed = manager_stack.up(ok=False)
    assert "worker west has no LocalQueue vision/team" in printed
    assert found["manager"].names("localqueues") == []

    clusters["west"].create(kueue_object("LocalQueue", "team", clusterQueue="vision"))
    manager_stack.up()
    for kind in ("multikueuecluster/east", "multikueuecluster/west", "admissioncheck/everywhere"):
        found["manager"].kubectl("wait", "--for=condition=Active", "--timeout=100s", kind)
    return found


@pytest.fixture
def controllers(clusters: dict[str, LoneCluster], tmp_path: Path) -> Iterator[None]:
    """Our controller of TrainJobs beside each cluster, with the runtime of the catalog."""
    with ExitStack() as stack:
        for name, each in clusters.items():
            each.create(catalog.get("torch-distributed").to_wire())
            process = ControllerProcess(name, tmp_path, each.server.kubeconfig)
            process.start()
            stack.callback(process.kill)
        yield


def complete(worker: Namespace) -> None:
    """Say of the worker's JobSet that it is done."""
    time = "2026-11-24T12:00:00Z"
    done = {"type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "done"}
    status = {"conditions": [done | {"lastTransitionTime": time}]}
    patch = json.dumps({"status": status})
    worker.kubectl("patch", "jobset", "job", "--subresource=status", "--type=merge", "-p", patch)


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_job_runs_on_the_worker_that_has_room(spaces: dict[str, Namespace]) -> None:
    job = job_set("job", "team", 2)
    # As Kueue's webhook would have it.
    job["spec"] |= {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}
    spaces["manager"].kubectl("create", "-f", "-", given=json.dumps(job))
    eventually(lambda: spaces["west"].names("jobsets") == ["job"])
    (remote,) = spaces["west"].all("jobsets")
    assert remote["metadata"]["labels"][names.KUEUE_QUEUE_LABEL] == "team"
    eventually(lambda: spaces["west"].all("jobsets")[0]["spec"]["suspend"] is False)
    assert spaces["east"].names("jobsets") == []
    team = Team(spaces["manager"])
    eventually(lambda: team.workload("job")["status"].get("clusterName") == "west")

    complete(spaces["west"])
    eventually(lambda: conditions(spaces["manager"].all("jobsets")[0]).get("Completed") == "True")
    team.await_condition("job", "Finished")
    eventually(lambda: spaces["west"].names("jobsets") == [])


@pytest.mark.usefixtures("kubectl_on_path", "controllers")
def test_a_train_job_runs_where_multi_kueue_sends_it_and_the_managers_is_left_alone(
    spaces: dict[str, Namespace],
) -> None:
    """KEP-693: the worker has a copy of the TrainJob, and its status comes back."""
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "job", "labels": {names.KUEUE_QUEUE_LABEL: "team"}},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "numNodes": 2,
                "image": "example.com/train:1",
                "resourcesPerNode": {"requests": {GPU: GPUS}, "limits": {GPU: GPUS}},
            },
        },
    }
    manager, west = spaces["manager"], spaces["west"]
    manager.kubectl("create", "-f", "-", given=json.dumps(job))
    assert manager.all("trainjobs")[0]["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    eventually(lambda: west.names("jobsets") == ["job"])
    eventually(lambda: west.all("jobsets")[0]["spec"]["suspend"] is False)
    assert spaces["east"].names("trainjobs") == []
    assert manager.names("jobsets") == []

    complete(west)
    eventually(lambda: conditions(manager.all("trainjobs")[0]).get("Complete") == "True")
    Team(manager).await_condition("job", "Finished")
    eventually(lambda: west.names("trainjobs") == [])
    assert manager.names("jobsets") == []
    assert not [each for each in manager.names("configmaps") if names.SNAPSHOT_SUFFIX in each]
