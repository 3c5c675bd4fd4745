"""A catalog's runtimes on a real API server, through `pulumi up`: no job loses the runtime that it names."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.accounts import Account, Request
from tests.cluster_programs import NewServer
from tests.deploy.project import Stack, new_cli_stack
from tests.kube.scripted import config
from trainer_infra import names
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB

HEAD = """
import pulumi
import pulumi_kubernetes
from trainer_infra import platform

catalog = platform.RuntimeCatalog("runtimes", {arguments})
pulumi.export("deprecated", catalog.deprecated)
pulumi.export("versions", catalog.versions)
"""
MARKS = (names.DEPRECATED_LABEL, names.SUPPORT_LABEL)
MIRROR = 'images={"docker.io/pytorch": "mirror.example.com/pytorch"}'


@dataclass
class Place:
    """A stack of a catalog, and the cluster that it is for."""

    stack: Stack
    client: KubeClient
    admin: Account

    def stranger(self) -> dict[str, Any]:
        """A kubeconfig of an account that may do nothing."""
        path = "/api/v1/namespaces/default/serviceaccounts"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "stranger"}}
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        self.admin.send(Request("POST", path, account))
        token = self.admin.send(Request("POST", f"{path}/stranger/token", asked)).body["status"]
        authority = str(self.admin.address.certificate)
        return config(
            self.admin.address.url, token["token"], **{"certificate-authority": authority}
        )

    def write(self, arguments: str) -> None:
        text = HEAD.format(arguments=arguments)
        (self.stack.folder / "__main__.py").write_text(text)

    def up(self, arguments: str) -> dict[str, Any]:
        """Deploy the catalog; its runtimes in the cluster, by name."""
        self.write(arguments)
        self.stack.up()
        return self.runtimes()

    def runtimes(self) -> dict[str, Any]:
        page = loop.run_in_loop(self.client.list(ObjectSelection(CLUSTER_TRAINING_RUNTIME)))
        return {each["metadata"]["name"]: each for each in page.items}

    def train(self, name: str, runtime: str, kind: str = names.CLUSTER_TRAINING_RUNTIME) -> None:
        spec = {"runtimeRef": {"name": runtime, "kind": kind}}
        metadata = {"name": name, "namespace": "default"}
        job = {
            "apiVersion": names.API_VERSION,
            "kind": "TrainJob",
            "metadata": metadata,
            "spec": spec,
        }
        loop.run_in_loop(self.client.apply(job, manager="test"))

    def forget(self, job: str) -> None:
        loop.run_in_loop(self.client.delete(TRAIN_JOB, job, "default"))


@pytest.fixture
def place(
    tmp_path: Path,
    pulumi_env: dict[str, str],
    own_api_server: NewServer,
) -> Iterator[Place]:
    with own_api_server() as server:
        env = {**pulumi_env, "KUBECONFIG": str(server.kubeconfig)}
        stack = new_cli_stack(tmp_path / "project", env)
        client = loop.run_in_loop(http.connect_client(str(server.kubeconfig)))
        yield Place(stack, client, Account(server.address))
        loop.run_in_loop(client.close())


def uid(runtime: Any) -> str:
    return str(runtime["metadata"]["uid"])


def labels(runtime: Any) -> dict[str, str]:
    return dict(runtime["metadata"]["labels"])


def image(runtime: Any) -> str:
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return str(job["template"]["spec"]["template"]["spec"]["containers"][0]["image"])


def test_a_runtime_leaves_the_cluster_once_no_job_names_it(place: Place) -> None:
    before = place.up('runtimes=["torch-distributed", "jax-distributed", "plain-distributed"]')
    assert before.keys() == {"torch-distributed", "jax-distributed", "plain-distributed"}
    place.stack.unchanged()

    place.train("digits", "jax-distributed")
    place.train("other", "plain-distributed", names.TRAINING_RUNTIME)
    after = place.up(f'runtimes=["torch-distributed"], {MIRROR}')
    jax, torch = after["jax-distributed"], after["torch-distributed"]
    assert after.keys() == {"torch-distributed", "jax-distributed"}
    assert {each: labels(jax)[each] for each in MARKS} == {
        names.DEPRECATED_LABEL: "true",
        names.SUPPORT_LABEL: "deprecated",
    }
    assert uid(jax) == uid(before["jax-distributed"])
    assert jax["spec"] == before["jax-distributed"]["spec"]
    assert labels(jax).items() >= labels(before["jax-distributed"]).items()
    assert uid(torch) == uid(before["torch-distributed"])
    assert image(torch) == f"mirror.example.com/{image(before['torch-distributed'])}"
    assert (
        labels(torch)[names.CONTENT_LABEL]
        != labels(before["torch-distributed"])[names.CONTENT_LABEL]
    )
    assert place.stack.outputs()["deprecated"] == ["jax-distributed"]
    place.stack.unchanged()

    place.forget("digits")
    assert place.up(f'runtimes=["torch-distributed"], {MIRROR}').keys() == {"torch-distributed"}
    assert place.stack.outputs()["deprecated"] == []


@pytest.mark.soak
def test_a_runtime_that_comes_back_is_the_same_object_without_the_marks(place: Place) -> None:
    """In a program whose provider and kubeconfig are known once something else is."""
    there = f"""
    kubeconfig=(later := pulumi.Output.from_input({place.stack.env["KUBECONFIG"]!r})),
    opts=pulumi.ResourceOptions(providers=[pulumi_kubernetes.Provider("there", kubeconfig=later)]),
    """
    before = place.up(f'runtimes=["torch-distributed", "jax-distributed"], {there}')
    place.train("digits", "jax-distributed")
    between = place.up(f'runtimes=["torch-distributed"], {there}')
    assert labels(between["jax-distributed"])[names.DEPRECATED_LABEL] == "true"
    assert place.stack.outputs()["deprecated"] == ["jax-distributed"]
    place.stack.unchanged()

    after = place.up(f'runtimes=["torch-distributed", "jax-distributed"], {there}')
    assert uid(after["jax-distributed"]) == uid(before["jax-distributed"])
    assert labels(after["jax-distributed"]) == labels(before["jax-distributed"])
    place.stack.unchanged()


@pytest.mark.soak
def test_frozen_copies_of_former_contents_stay(place: Place) -> None:
    arguments = 'runtimes=["torch-distributed"], versioned=True'
    before = place.up(arguments)
    first = place.stack.outputs()["versions"]["torch-distributed"]
    content = labels(before["torch-distributed"])[names.CONTENT_LABEL]
    assert first == f"torch-distributed-{content}"
    assert before.keys() == {"torch-distributed", first}
    assert before[first]["spec"] == before["torch-distributed"]["spec"]
    assert names.FRAMEWORK_LABEL not in labels(before[first])
    assert labels(before[first])[names.VERSION_OF_LABEL] == "torch-distributed"

    after = place.up(f"{arguments}, {MIRROR}")
    second = place.stack.outputs()["versions"]["torch-distributed"]
    assert after.keys() == {"torch-distributed", first, second}
    assert after[first]["spec"] == before[first]["spec"]
    assert labels(after[first])[names.DEPRECATED_LABEL] == "true"
    assert names.DEPRECATED_LABEL not in labels(after[second])

    place.train("digits", second)
    assert place.up('runtimes=["torch-distributed"]').keys() == {"torch-distributed", second}


@pytest.mark.soak
def test_where_the_cluster_does_not_tell_a_preview_warns_and_an_update_deletes_nothing(
    place: Place,
) -> None:
    before = place.up('runtimes=["torch-distributed", "jax-distributed"]')
    place.train("digits", "jax-distributed")
    away = config("https://127.0.0.1:9")
    for name, content in (("away", away), ("stranger", place.stranger())):
        (place.stack.folder / name).write_text(json.dumps(content))

    place.write('runtimes=["torch-distributed"], kubeconfig="stranger"')
    unknown = "RuntimeCatalog runtimes: which runtimes TrainJobs still name is not known: "
    assert f"warning: {unknown}list clustertrainingruntimes" in place.stack.preview()
    for name in ("stranger", "away"):
        place.write(f'runtimes=["torch-distributed"], kubeconfig="{name}"')
        said = place.stack.up(ok=False)
        assert unknown in said
        assert "; no runtime was deleted" in said
        assert "Traceback" not in said
        assert place.runtimes().keys() == before.keys()
