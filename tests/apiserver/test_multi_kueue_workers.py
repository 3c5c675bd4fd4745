"""A preview finds what two workers of MultiKueue lack, asked of two real API servers."""

import base64
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi
import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.crds import JSON
from tests.cluster_programs import NewServer
from tests.deploy.project import new_cli_stack
from tests.platform.declared_resources import declared_resources
from tests.platform.queues.program import KUBECONFIG
from trainer_infra import platform
from trainer_infra.kube import http, loop

pytestmark = pytest.mark.usefixtures("kubectl_on_path")

KUEUE = "kueue.x-k8s.io/v1beta2"
TRAINER = "trainer.kubeflow.org/v1alpha1"
RUNTIME: Any = {"template": {"spec": {"replicatedJobs": []}}}
HAS = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}},
    {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "team", "namespace": "vision"},
        "spec": {"clusterQueue": "vision"},
    },
    {
        "apiVersion": KUEUE,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"},
        "value": 1,
    },
    {
        "apiVersion": TRAINER,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch-distributed"},
        "spec": RUNTIME,
    },
    {
        "apiVersion": TRAINER,
        "kind": "TrainingRuntime",
        "metadata": {"name": "own", "namespace": "vision"},
        "spec": RUNTIME,
    },
)
EXPECTS: Any = {
    "namespaces": ["vision"],
    "local_queues": ["vision/team"],
    "runtimes": ["torch-distributed", "vision/own"],
    "priority_classes": ["high"],
}


def kubeconfig(server: RunningServer) -> str:
    """As Kueue takes it: everything is in it."""
    config = json.loads(server.kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = (server.folder / cluster.pop("certificate-authority")).read_bytes()
    cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    return json.dumps(config)


def make(server: RunningServer, kinds: set[str]) -> None:
    async def create() -> None:
        client = await http.connect_client(str(server.kubeconfig))
        for each in HAS:
            if each["kind"] in kinds:
                await client.create(each, manager="test")
        await client.close()

    loop.run_in_loop(create())


@pytest.fixture(scope="module")
def workers(
    own_api_server: NewServer,
    queue_kinds: Sequence[JSON],
) -> Iterator[Mapping[str, RunningServer]]:
    """One that has everything, one without a queue and a runtime."""
    with own_api_server(queue_kinds) as east, own_api_server(queue_kinds) as west:
        make(east, {str(each["kind"]) for each in HAS})
        make(west, {"Namespace", "WorkloadPriorityClass", "TrainingRuntime"})
        yield {"east": east, "west": west}


LACKS = [
    (
        "MultiKueue everywhere: worker west has no LocalQueue vision/team; make it there first, MultiKueue "
        "does not"
    ),
    (
        "MultiKueue everywhere: worker west has no ClusterTrainingRuntime torch-distributed; make it there "
        "first, MultiKueue does not"
    ),
]


def test_what_a_worker_lacks_is_one_sentence_each(workers: Mapping[str, RunningServer]) -> None:
    texts: Any = {name: {"kubeconfig": kubeconfig(each)} for name, each in workers.items()}
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(
            lambda: platform.MultiKueue("everywhere", workers=texts, expects=EXPECTS)
        )
    assert str(raised.value).splitlines() == LACKS

    only_east = {"east": texts["east"]}
    declared_resources(
        lambda: platform.MultiKueue("everywhere", workers=only_east, expects=EXPECTS)
    )


def test_a_worker_without_kueue_is_told_by_its_kind(api_server: RunningServer) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(
            lambda: platform.MultiKueue(
                "everywhere",
                workers={"bare": {"kubeconfig": kubeconfig(api_server)}},
                expects={"local_queues": ["vision/team", "vision/other"]},
            )
        )
    assert str(raised.value) == (
        "MultiKueue everywhere: worker bare does not serve LocalQueue of kueue.x-k8s.io/v1beta2; install it "
        "there first"
    )


def test_a_worker_that_cannot_be_asked_is_a_warning(
    workers: Mapping[str, RunningServer], caplog: pytest.LogCaptureFixture
) -> None:
    foreign = json.loads(kubeconfig(workers["east"]))
    foreign["users"][0]["user"]["token"] = "of-someone-else"
    given: Any = {
        "gone": {"kubeconfig": KUBECONFIG},
        "foreign": {"kubeconfig": json.dumps(foreign)},
        "secret": {"secret": "made-by-hand"},
        "east": {"secret": "made-by-hand", "preview_kubeconfig": str(workers["east"].kubeconfig)},
    }
    with caplog.at_level(logging.WARNING):
        made = declared_resources(
            lambda: platform.MultiKueue("everywhere", workers=given, expects=EXPECTS)
        )
    said = {each.message.split(" has is")[0]: each.message for each in caplog.records}
    heads = [f"MultiKueue everywhere: what worker {each}" for each in ("gone", "foreign", "secret")]
    assert sorted(said) == sorted(heads)
    assert "cannot be reached" in said[heads[0]]
    assert "401 Unauthorized" in said[heads[1]]
    assert "preview_kubeconfig" in said[heads[2]]
    assert len([each for each in made if each.kind.endswith("MultiKueueCluster")]) == 4


PROGRAM = """
import json
import pulumi
from trainer_infra import platform

config = pulumi.Config("project")
platform.MultiKueue(
    "everywhere",
    workers={name: {"kubeconfig": config.require_secret(name)} for name in json.loads(config.require("workers"))},
    expects={"local_queues": ["vision/team"], "runtimes": ["torch-distributed"]},
)
"""


@pytest.mark.soak
def test_a_secret_kubeconfig_of_the_stacks_configuration_is_asked_too(
    workers: Mapping[str, RunningServer], tmp_path: Path, pulumi_env: dict[str, str]
) -> None:
    # The manager is the eastern server itself: a preview writes nothing.
    env = {**pulumi_env, "KUBECONFIG": str(workers["east"].kubeconfig)}
    stack = new_cli_stack(tmp_path / "project", env)
    (stack.folder / "__main__.py").write_text(PROGRAM)
    for name, each in workers.items():
        stack.run("config", "set", "--secret", name, kubeconfig(each))
    stack.run("config", "set", "workers", '["east"]')
    printed = stack.preview()
    assert "MultiKueueCluster" in printed
    assert "token" not in printed

    stack.run("config", "set", "workers", '["east", "west"]')
    printed = stack.preview(ok=False)
    for sentence in LACKS:
        assert sentence in printed
    assert "Traceback" not in printed
