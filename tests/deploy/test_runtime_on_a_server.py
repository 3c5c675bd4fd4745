"""Runtimes and batches on a real API server without nodes, by the real Pulumi CLI."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.deploy.project import Stack

RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RUNTIME = """
from trainer_infra import TrainingRuntime, catalog
spec = catalog.get("torch-distributed").to_wire()["spec"]
mine = TrainingRuntime("mine", {{**spec, "mlPolicy": {{"numNodes": {nodes}, "torch": {{}}}}}}, adopt={adopt})
"""


@pytest.fixture(scope="module")
def server(api_server: RunningServer) -> Iterator[tuple[Client, Path]]:
    with Client(api_server.address) as client:
        yield client, api_server.kubeconfig


@pytest.fixture
def cluster(stack: Stack, server: tuple[Client, Path]) -> Stack:
    """The stack with its target on that server."""
    stack.run("config", "set", "trainer:target", "kubernetes")
    stack.run("config", "set", "trainer:engine", "provider")
    stack.run("config", "set", "trainer:kubeconfig", str(server[1]))
    return stack


def runtime(client: Client) -> dict[str, Any]:
    return client.get(f"{RUNTIMES}/mine").body


def nodes(client: Client) -> int:
    found: int = runtime(client)["spec"]["mlPolicy"]["numNodes"]
    return found


def jobsets(client: Client) -> list[dict[str, Any]]:
    """JobSets that nobody deletes; no garbage collector is there to take those that are."""
    found: list[dict[str, Any]] = client.get(JOBSETS).body["items"]
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


def program(count: int = 2, *, adopt: bool = False) -> str:
    return RUNTIME.format(nodes=count, adopt=adopt)


def test_it_is_applied_edited_repaired_and_deleted(
    cluster: Stack, server: tuple[Client, Path]
) -> None:
    client, _ = server
    cluster.program(program())
    cluster.up()
    made = runtime(client)
    assert made["metadata"]["labels"]["trainer-infra.dev/stack"] == "test"
    assert nodes(client) == 2
    cluster.unchanged()

    cluster.program(program(3))
    cluster.up()
    assert nodes(client) == 3
    assert runtime(client)["metadata"]["uid"] == made["metadata"]["uid"]

    changed = runtime(client)
    changed["spec"]["mlPolicy"]["numNodes"] = 9
    changed["metadata"]["annotations"] = {"somebody": "else"}
    assert client.replace(f"{RUNTIMES}/mine", changed).message == ""
    cluster.run("refresh", "--yes")
    assert "spec.mlPolicy.numNodes" in cluster.preview()
    cluster.up()
    assert nodes(client) == 3
    (state,) = cluster.resources("trainer:Runtime")
    assert runtime(client)["metadata"]["annotations"] == {
        "somebody": "else",
        "trainer-infra.dev/backend": state["outputs"]["owner"]["backend"],
    }
    cluster.unchanged()

    cluster.run("destroy", "--yes")
    assert client.get(f"{RUNTIMES}/mine").status == 404


def test_one_that_somebody_else_made_is_refused_until_it_is_adopted(
    cluster: Stack, server: tuple[Client, Path]
) -> None:
    client, _ = server
    foreign = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "mine"},
        "spec": {"mlPolicy": {"numNodes": 7}},
    }
    assert client.create(RUNTIMES, foreign).message == ""
    cluster.program(program())
    refused = cluster.up(ok=False)
    assert "TrainingRuntime default/mine exists and belongs to" in refused
    assert "Traceback" not in refused
    assert nodes(client) == 7
    cluster.program(program(adopt=True))
    cluster.up()
    assert nodes(client) == 2
    cluster.run("destroy", "--yes")


@pytest.mark.soak
def test_one_that_is_gone_is_made_again(cluster: Stack, server: tuple[Client, Path]) -> None:
    client, _ = server
    cluster.program(program())
    cluster.up()
    client.delete(f"{RUNTIMES}/mine")
    cluster.run("refresh", "--yes")
    assert cluster.resources("trainer:Runtime") == []
    cluster.up()
    assert nodes(client) == 2
    cluster.run("destroy", "--yes")


@pytest.mark.soak
def test_a_batch_is_submitted_on_it_and_drift_of_one_member_is_repaired(
    cluster: Stack, server: tuple[Client, Path]
) -> None:
    client, _ = server
    jobs = (
        'TrainJobs("sweep", {f"m{i}": {"runtime": mine, "suspend": True, "delete_timeout": 2, '
        '"trainer": CustomTrainer(train, func_args={"text": str(i)})} for i in range(6)})\n'
    )
    cluster.program(program() + "from trainer_infra import TrainJobs\n" + jobs)
    cluster.up()
    made = {each["metadata"]["name"]: each for each in jobsets(client)}
    assert len(made) == 6
    cluster.unchanged()

    (victim,) = (each for name, each in made.items() if name.startswith("sweep-m3-"))
    replicated = victim["spec"]["replicatedJobs"][0]
    replicated["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    path = f"{JOBSETS}/{victim['metadata']['name']}"
    assert client.replace(path, victim).message == ""
    cluster.run("refresh", "--yes")
    (batch,) = cluster.resources("trainer:TrainJobs")
    assert batch["outputs"]["drift"].keys() == {"m3"}
    assert "image" in cluster.up()
    again = client.get(path).body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert again["spec"]["containers"][0]["image"] != "other"
    cluster.unchanged()

    cluster.run("destroy", "--yes")
    assert jobsets(client) == []


@pytest.mark.soak
def test_without_its_kind_it_says_how_to_install_it_and_jobs_still_run(
    cluster: Stack, server: tuple[Client, Path]
) -> None:
    client, _ = server
    cluster.program(program())
    path = f"{CRDS}/trainingruntimes.trainer.kubeflow.org"
    definition = client.get(path).body
    client.delete(path)
    try:
        hint = "trainer-infra crds | kubectl apply --server-side -f -"
        assert hint in " ".join(cluster.preview().split())
        refused = cluster.up(ok=False)
        assert hint in " ".join(refused.split())
        assert "Traceback" not in refused
        inline = 'TrainJob("job", runtime=catalog.get("torch-distributed"), suspend=True, delete_timeout=2, trainer=CustomTrainer(train))'
        cluster.program(f"from trainer_infra import catalog\n{inline}")
        cluster.up()
        assert len(jobsets(client)) == 1
        cluster.run("destroy", "--yes")
    finally:
        rest = {
            key: definition["metadata"][key]
            for key in ("name", "annotations", "labels")
            if key in definition["metadata"]
        }
        client.create(CRDS, {**definition, "metadata": rest, "status": {}})


@pytest.mark.soak
def test_a_runtime_that_another_backends_stack_took_over_is_left_alone(
    cluster: Stack, server: tuple[Client, Path], tmp_path: Path
) -> None:
    client, kubeconfig = server
    cluster.program(program())
    cluster.up()
    uid = runtime(client)["metadata"]["uid"]
    folder, backend = tmp_path / "other", tmp_path / "other-backend"
    folder.mkdir()
    backend.mkdir()
    (folder / "Pulumi.yaml").write_text((cluster.folder / "Pulumi.yaml").read_text())
    env = {**cluster.env, "PULUMI_BACKEND_URL": f"file://{backend}"}
    other = replace(cluster, folder=folder, env=env)
    other.run("stack", "init")
    for key, value in (
        ("target", "kubernetes"),
        ("engine", "provider"),
        ("kubeconfig", str(kubeconfig)),
    ):
        other.run("config", "set", f"trainer:{key}", value)
    other.program(program())
    (mine,) = cluster.resources("trainer:Runtime")
    whose = f"stack test of project project in backend {mine['outputs']['owner']['backend']}"
    assert f"exists and belongs to {whose}; choose another name" in other.up(ok=False)
    other.program(program(adopt=True))
    other.up()

    cluster.program(program(5))
    assert "TrainingRuntime mine belongs to stack test of project project" in cluster.up(ok=False)
    assert nodes(client) == 2
    left = cluster.run("destroy", "--yes")
    assert "TrainingRuntime default/mine is left alone: it belongs to stack test" in left
    assert runtime(client)["metadata"]["uid"] == uid
    other.unchanged()
    other.run("refresh", "--yes", "--expect-no-changes")
    other.run("destroy", "--yes")
    assert client.get(f"{RUNTIMES}/mine").status == 404
