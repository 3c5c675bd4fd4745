"""Engine `controller` on a real API server that has its kinds and no controller, by the real Pulumi CLI."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.deploy.project import Stack
from trainer_infra import catalog, names
from trainer_infra.platform import builtin_control_plane

RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
TRAIN_JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOB = """
TrainJob("job", runtime={runtime}, trainer=CustomTrainer(train, num_nodes=2), {more})
"""

SYSTEM = "/api/v1/namespaces/kubeflow-system/configmaps"
GANG = (
    'annotations={"trainer-infra.dev/scheduler": "yunikorn", "trainer-infra.dev/queue": "root.q"}'
)
OTHER = """
from trainer_infra import catalog
runtime = catalog.get("jax-distributed").to_wire()
runtime["spec"]["mlPolicy"]["numNodes"] = 7
"""


@pytest.fixture(scope="module")
def server(api_server: RunningServer) -> Iterator[tuple[Client, Path]]:
    with Client(api_server.address) as client:
        yield client, api_server.kubeconfig


@pytest.fixture
def client(server: tuple[Client, Path]) -> Client:
    """Of the server without what tests before this one left there."""
    for path in (RUNTIMES, TRAIN_JOBS, CONFIG_MAPS):
        for each in server[0].get(path).body["items"]:
            server[0].delete(f"{path}/{each['metadata']['name']}")
    return server[0]


@pytest.fixture
def builtin(client: Client) -> Iterator[None]:
    """What our control plane says of itself to every account."""
    (public,) = (
        each
        for each in builtin_control_plane.builtin_objects()
        if each["metadata"]["name"] == names.PUBLIC_CONFIG_MAP and each["kind"] == "ConfigMap"
    )
    client.create("/api/v1/namespaces", {"metadata": {"name": names.SYSTEM_NAMESPACE}})
    assert client.create(SYSTEM, public).message == ""
    yield
    client.delete(f"{SYSTEM}/{names.PUBLIC_CONFIG_MAP}")


@pytest.fixture
def controlled(stack: Stack, server: tuple[Client, Path]) -> Stack:
    place = {"target": "kubernetes", "engine": "controller", "kubeconfig": str(server[1])}
    for key, value in place.items():
        stack.run("config", "set", f"trainer:{key}", value)
    return stack


def store(client: Client, marker: str) -> dict[str, Any]:
    """The catalog's runtime for JAX, as an administrator has changed it."""
    wire = catalog.get("jax-distributed").to_wire()
    pod = wire["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pod["spec"]["containers"][0]["env"] = [{"name": "SITE", "value": marker}]
    there = client.get(f"{RUNTIMES}/jax-distributed")
    if there.status == 404:
        return client.create(RUNTIMES, wire).body
    changed = {**there.body, "spec": wire["spec"]}
    return client.replace(f"{RUNTIMES}/jax-distributed", changed).body


def test_a_preview_renders_with_the_clusters_runtime_and_a_run_keeps_it(
    controlled: Stack, client: Client
) -> None:
    store(client, "site-one")
    controlled.program(JOB.format(runtime="'jax-distributed'", more=""))
    shown = controlled.preview()
    assert "site-one" in shown
    assert "has no ClusterTrainingRuntime" not in shown
    controlled.up()
    (stored,) = client.get(TRAIN_JOBS).body["items"]
    assert stored["metadata"]["name"] == controlled.job()["name"]
    assert stored["spec"]["runtimeRef"]["name"] == "jax-distributed"
    store(client, "site-two")
    controlled.unchanged()
    controlled.run("refresh", "--yes")
    controlled.unchanged()


def test_without_its_runtime_a_preview_warns_and_up_refuses(
    controlled: Stack, client: Client
) -> None:
    controlled.program(JOB.format(runtime="'jax-distributed'", more=""))
    assert "the cluster has no ClusterTrainingRuntime jax-distributed yet" in controlled.preview()
    refused = controlled.up(ok=False)
    assert "the cluster has no ClusterTrainingRuntime jax-distributed, which" in refused
    assert "Traceback" not in refused
    assert client.get(TRAIN_JOBS).body["items"] == []


def test_a_runtime_of_the_program_that_differs_from_the_clusters_is_said(
    controlled: Stack, client: Client
) -> None:
    store(client, "site-one")
    controlled.program(OTHER + JOB.format(runtime="runtime", more=""))
    shown = controlled.preview()
    assert "ClusterTrainingRuntime jax-distributed in the cluster is another one" in shown


@pytest.mark.parametrize(
    ("fixture", "why"),
    [
        ("controlled", "Kubeflow Trainer's controller ignores it"),
        ("builtin", "Kueue does not read it from a TrainJob"),
    ],
)
def test_annotations_about_kueue_are_refused_at_preview(
    fixture: str, why: str, controlled: Stack, client: Client, request: pytest.FixtureRequest
) -> None:
    """With this engine Kueue reads labels of the TrainJob alone, whichever controller there is."""
    request.getfixturevalue(fixture)
    store(client, "site-one")
    more = 'annotations={"trainer-infra.dev/scheduler": "kueue", "trainer-infra.dev/queue": "q"}'
    controlled.program(JOB.format(runtime="'jax-distributed'", more=more))
    refused = controlled.preview(ok=False)
    assert f"is not supported by engine controller: {why}" in refused
    assert "put the label kueue.x-k8s.io/queue-name on the TrainJob" in refused


@pytest.mark.soak
@pytest.mark.usefixtures("builtin")
def test_what_our_controller_makes_of_an_annotation_is_previewed_and_the_run_keeps_it(
    controlled: Stack, client: Client
) -> None:
    store(client, "site-one")
    controlled.program(JOB.format(runtime="'jax-distributed'", more=GANG))
    assert "schedulerName" in controlled.preview()
    controlled.up()
    assert controlled.job()["controller"] == names.BUILTIN
    client.delete(f"{SYSTEM}/{names.PUBLIC_CONFIG_MAP}")
    controlled.unchanged()


def test_upstream_ignores_the_annotation_and_that_is_refused(
    controlled: Stack, client: Client
) -> None:
    store(client, "site-one")
    controlled.program(JOB.format(runtime="'jax-distributed'", more=GANG))
    assert "Kubeflow Trainer's controller ignores it" in controlled.preview(ok=False)
