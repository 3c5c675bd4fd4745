"""A workspace with real controllers: its members' jobs are queued by default, and keep their runtime."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import busybox
from tests.deploy.project import Stack, new_cli_stack
from tests.e2e.bare_platform import bare_cluster
from tests.e2e.cluster import Namespace
from tests.e2e.conftest import namespace
from tests.e2e.jobs import eventually
from trainer_infra import names

__all__ = ["namespace"]
PROGRAM = """
import pulumi
from trainer_infra import platform

# Images are loaded into the node, which has two cores.
here = {"image_pull_policy": "IfNotPresent", "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}}}
jobset = platform.JobSetController("jobset", **here)
plane = platform.TrainerControlPlane("plane", opts=pulumi.ResourceOptions(depends_on=[jobset]), **here)
queues = platform.Kueue("queues", visibility=False, opts=pulumi.ResourceOptions(depends_on=[plane]), **here)

def in_the_node(runtime):
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            container |= {"image": IMAGE, "imagePullPolicy": "IfNotPresent"}
    return runtime

after = pulumi.ResourceOptions(depends_on=[queues, plane])
platform.RuntimeCatalog("runtimes", runtimes=RUNTIMES, transform=in_the_node, service_account="training", opts=after)
flavor = platform.ResourceFlavor("default-flavor", opts=after)
team = platform.Workspace(
    "team",
    namespace=NAMESPACE,
    quota={"cpu": "150m"},
    members=[{"kind": "Group", "name": "vision-team"}],
    opts=pulumi.ResourceOptions.merge(after, pulumi.ResourceOptions(depends_on=[flavor])),
)
pulumi.export("queue", team.queue)
"""
RUNTIMES = ("plain-distributed", "torch-distributed")
MEMBER = ("--as", "alice", "--as-group", "vision-team")


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster of its own: others of these tests have Kueue in theirs."""
    with bare_cluster("soak-workspace", "dev", tmp_path_factory.mktemp("scratch")) as made:
        busybox.loaded()
        yield made


@pytest.fixture
def team(namespace: Namespace) -> Namespace:
    """The namespace of the workspace, which the program makes."""
    return replace(namespace, name=f"{namespace.name}-team")


@pytest.fixture
def stack(
    tmp_path: Path, pulumi_env: dict[str, str], kubeconfig: Path, team: Namespace
) -> Iterator[Stack]:
    made = new_cli_stack(tmp_path / team.name, {**pulumi_env, "KUBECONFIG": str(kubeconfig)})
    yield made
    made.run("destroy", "--yes", "--skip-preview")


def write(stack: Stack, team: Namespace, *runtimes: str) -> None:
    constants = f"IMAGE, NAMESPACE, RUNTIMES = {busybox.IMAGE!r}, {team.name!r}, {runtimes!r}"
    (stack.folder / "__main__.py").write_text(f"{constants}\n{PROGRAM}")


def train(team: Namespace, name: str, command: str, ok: bool = True) -> str:
    """Post a TrainJob that names no queue, as a member does."""
    trainer_spec = {
        "numNodes": 1,
        "command": ["sh", "-c", command],
        "resourcesPerNode": {"requests": {"cpu": "100m"}},
    }
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": "plain-distributed"}, "trainer": trainer_spec},
    }
    return team.kubectl(*MEMBER, "create", "-f", "-", given=json.dumps(job), ok=ok)


def job_of(team: Namespace, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(team.kubectl(*MEMBER, "get", "trainjob", name, "-o", "json"))
    return found


def has_condition(team: Namespace, name: str, condition: str) -> bool:
    listed = job_of(team, name).get("status", {}).get("conditions", ())
    return condition in {each["type"] for each in listed if each["status"] == "True"}


def runtime_labels(team: Namespace) -> dict[str, dict[str, str]]:
    return {
        each["metadata"]["name"]: each["metadata"]["labels"]
        for each in team.all("clustertrainingruntimes")
    }


def test_a_members_jobs_wait_for_quota_unasked_and_keep_a_runtime_that_was_removed(
    stack: Stack, team: Namespace
) -> None:
    write(stack, team, *RUNTIMES)
    stack.up()
    assert stack.outputs() == {"queue": "default"}
    stack.unchanged()

    train(team, "runs", "sleep 60")
    assert job_of(team, "runs")["metadata"]["labels"] == {names.KUEUE_QUEUE_LABEL: "default"}
    (pod,) = eventually(lambda: team.names("pods"))
    train(team, "waits", "true")
    eventually(partial(has_condition, team, "waits", "Suspended"))

    # The webhook refuses every change of a job whose runtime is missing, so the second would never start.
    write(stack, team, "torch-distributed")
    stack.up()
    assert runtime_labels(team).keys() == set(RUNTIMES)
    assert runtime_labels(team)["plain-distributed"][names.DEPRECATED_LABEL] == "true"
    assert team.names("pods") == [pod]
    for job in ("runs", "waits"):
        eventually(partial(has_condition, team, job, "Complete"))
    assert "is deprecated and will be removed" in train(team, "late", "true")
    eventually(partial(has_condition, team, "late", "Complete"))

    stack.up()
    assert runtime_labels(team).keys() == set(RUNTIMES)
    team.kubectl(*MEMBER, "delete", "trainjob", "runs", "waits", "late")
    stack.up()
    assert runtime_labels(team).keys() == {"torch-distributed"}

    stack.run("destroy", "--yes", "--skip-preview")
    assert stack.resources("") == []
    team.kubectl("get", "namespace", team.name, ok=False)
