"""A real API server with Kueue's own CRDs takes every queue object, and refuses what a preview refuses."""

from collections.abc import Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.platform.declared_resources import declared_objects
from tests.platform.queues.mistakes import MISTAKES, Mistake
from tests.platform.queues.program import all_queues
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Invalid

REFUSED = [each for each, row in MISTAKES.items() if row.refused_by == "crd"]
TAKEN = [each for each, row in MISTAKES.items() if row.refused_by == "webhook"]


@pytest.fixture(scope="module")
def client(queue_server: RunningServer) -> Iterator[KubeClient]:
    made = loop.run_in_loop(http.connect_client(str(queue_server.kubeconfig)))
    for name in ("vision", "kueue-system"):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        loop.run_in_loop(made.apply(namespace, manager="test"))
    yield made
    loop.run_in_loop(made.close())


def try_out(client: KubeClient, value: JSONObject) -> JSONObject:
    """What the server would store, were it not a try."""
    return loop.run_in_loop(client.apply(value, manager="test", dry_run=True, force=True))


def try_all(client: KubeClient, objects: list[JSONObject]) -> None:
    for each in objects:
        try_out(client, each)


def objects_without_judgement(row: Mistake) -> list[JSONObject]:
    """What a component would declare if it judged nothing."""

    nothing = {"_type_problems": lambda *_: (), "_judge_all": lambda *_: None}
    trusting = type("Trusting", (row.component,), nothing)
    return list(declared_objects(lambda: trusting("it", **row.args)).values())


@pytest.mark.usefixtures("kubectl_on_path")
def test_the_server_takes_every_object_as_it_is(client: KubeClient) -> None:
    objects = declared_objects(all_queues)
    for each in objects.values():
        stored = try_out(client, each)
        assert stored.get("spec", {}).keys() >= each.get("spec", {}).keys()
    assert len(objects) == 22


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("mistake", REFUSED)
def test_a_crd_refuses_what_the_preview_refuses(client: KubeClient, mistake: str) -> None:
    with pytest.raises(Invalid):
        try_all(client, objects_without_judgement(MISTAKES[mistake]))


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("mistake", TAKEN)
def test_what_only_a_webhook_refuses_passes_the_crd(client: KubeClient, mistake: str) -> None:
    """So the row says truly who refuses it; tests/soak asks the webhooks."""
    try_all(client, objects_without_judgement(MISTAKES[mistake]))
