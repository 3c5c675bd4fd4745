"""A proxy answers in the cluster's place: one sentence at every command, nothing left, nothing lost."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from from_source.cluster.kube_apiserver import Address
from tests.deploy.project import Stack
from tests.kube.front import Front
from tests.kube.scripted import config, status
from tests.soak_sample import sampled
from trainer_infra.kube.loop import run_in_loop

JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
JOB = (
    'TrainJob("{name}", runtime="jax-distributed", trainer={{"image": "none"}}, delete_timeout=1)\n'
)
LOGIN = "<html><head><title>Sign in</title></head><body><form></form></body></html>"

Answer = Callable[[], web.Response]

ANSWERS: dict[str, tuple[Answer, str]] = {
    "a login page": (
        lambda: web.Response(text=LOGIN, content_type="text/html"),
        "a page titled 'Sign in' (200 text/html), which is not an answer of Kubernetes",
    ),
    "an unknown user": (
        lambda: web.json_response(status(401, "Unauthorized", "Unauthorized"), status=401),
        "sign in again: the credentials in the kubeconfig",
    ),
}


@pytest.fixture
def server(api_server: RunningServer) -> Address:
    return api_server.address


@pytest.fixture
def front(server: Address) -> Iterator[Front]:
    found = run_in_loop(Front.started(server))
    yield found
    run_in_loop(found.close())


@pytest.fixture
def behind(stack: Stack, front: Front, tmp_path: Path) -> Stack:
    """The stack with its target behind the proxy."""
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config(front.url)))
    for key, value in (
        ("target", "kubernetes"),
        ("engine", "provider"),
        ("kubeconfig", str(file)),
    ):
        stack.run("config", "set", f"trainer:{key}", value)
    return stack


def jobsets(server: Address) -> list[str]:
    with Client(server) as client:
        items = client.get(JOBSETS).body["items"]
    return [
        each["metadata"]["name"] for each in items if "deletionTimestamp" not in each["metadata"]
    ]


def known(stack: Stack, name: str) -> dict[str, object]:
    """What the state has of a run, without what is encrypted anew each time."""
    return {key: each for key, each in stack.job(name).items() if key != "__provider"}


def words(shown: str) -> str:
    """The output as one line, of which nothing is a traceback or a name of Python's."""
    assert "Traceback" not in shown
    assert "object at 0x" not in shown
    return " ".join(shown.split())


@pytest.mark.parametrize("name", sampled(["a login page", "an unknown user"], every=2))
def test_what_a_proxy_answers_is_one_sentence_at_every_command(
    behind: Stack, front: Front, server: Address, name: str
) -> None:
    answer, said = ANSWERS[name]
    # Nothing deletes there what goes in the foreground: each case has names of its own.
    first = f"first{sorted(ANSWERS).index(name)}"
    behind.program(JOB.format(name=first))
    behind.up()
    before = known(behind, first)
    behind.program(JOB.format(name=first) + JOB.format(name="second"))

    front.instead = lambda _: answer()
    preview = words(behind.preview())
    assert "warning: the cluster cannot be asked, the preview goes on without it" in preview
    assert said in preview
    assert "second" in preview
    for command in (["up", "--yes", "--skip-preview"], ["refresh", "--yes"], ["destroy", "--yes"]):
        assert said in words(behind.run(*command, ok=False))
    assert said in words(behind.trainer("get", ok=False))
    assert known(behind, first) == before

    front.instead = lambda _: None
    assert jobsets(server) == [before["name"]]
    behind.run("destroy", "--yes")
    assert jobsets(server) == []


def test_a_webhook_that_fails_is_named_and_nothing_is_left(
    behind: Stack, front: Front, server: Address
) -> None:
    words_of_it = 'failed calling webhook "red.hook.example": service "none" not found'

    def failing(request: web.Request) -> web.Response | None:
        if request.method != "POST" or not request.path.endswith("/jobsets"):
            return None
        message = f"Internal error occurred: {words_of_it}"
        return web.json_response(status(500, "InternalError", message), status=500)

    front.instead = failing
    behind.program(JOB.format(name="hooked"))
    shown = words(behind.up(ok=False))
    assert f"a webhook of the cluster fails: Internal error occurred: {words_of_it}" in shown
    assert "the cluster is slow" not in shown
    with Client(server) as client:
        left = client.get("/api/v1/namespaces/default/configmaps").body["items"]
    assert [
        each["metadata"]["name"] for each in left if "deletionTimestamp" not in each["metadata"]
    ] == []
    assert jobsets(server) == []


@pytest.mark.soak
def test_a_server_in_trouble_is_given_up_with_its_reason(behind: Stack, front: Front) -> None:
    def failing(request: web.Request) -> web.Response | None:
        if request.method == "POST" and request.path.endswith("/jobsets"):
            return web.Response(status=503, text="etcdserver: no leader")
        return None

    front.instead = failing
    behind.program(JOB.format(name="troubled"))
    assert "etcdserver: no leader" in words(behind.up(ok=False))


@pytest.mark.soak
def test_a_gate_ends_with_the_sentence(behind: Stack, front: Front) -> None:
    behind.program(JOB.format(name="job"))
    behind.up()
    front.instead = lambda _: web.Response(text=LOGIN, content_type="text/html")
    gate = JOB.format(name="job").replace(
        "delete_timeout=1", 'delete_timeout=1, wait_for="complete"'
    )
    behind.program(gate)
    assert "a page titled 'Sign in'" in words(behind.up(ok=False))
    front.instead = lambda _: None
    behind.run("destroy", "--yes")
