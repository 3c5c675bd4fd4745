"""Lines of a log come once each, also when the connection is lost."""

import pytest

from tests.fake_api_server.memory import Memory
from tests.kube import objects
from tests.kube.scripted import JSON, Say, Speak, gathered, status
from trainer_infra.kube.client import KubeClient, LogOf
from trainer_infra.kube.loop import iterate_in_loop, run_in_loop
from trainer_infra.kube.refusals import Invalid

A = "2026-01-01T00:00:01.100000000Z"
B = "2026-01-01T00:00:01.200000000Z"
C = "2026-01-01T00:00:02.000000000Z"


def pod(**state: JSON) -> Say:
    """A pod whose container is in this state."""
    status = {"containerStatuses": [{"name": "node", "state": state}]}
    return Say(body={"kind": "Pod", "metadata": {"name": "p"}, "status": status})


def read(
    client: KubeClient, follow: bool = True, since: str = "", tail: int | None = None
) -> object:
    return run_in_loop(gathered(client.logs(LogOf("default", "a", "node", follow, tail, since))))


def test_a_log_is_its_lines_without_times(speak: Speak) -> None:
    client, server = speak(Say(body=f"{A} one\n{B} two  \n{C} "))

    assert read(client, follow=False, tail=3) == ["one", "two  ", ""]
    assert server.asked == [
        (
            "GET",
            "/api/v1/namespaces/default/pods/a/log",
            {"timestamps": "true", "container": "node", "tailLines": "3"},
        )
    ]


def test_a_log_since_a_time_has_times(speak: Speak) -> None:
    client, server = speak(Say(body=f"{A} one\n"))

    assert read(client, follow=False, since="2026-01-01T00:00:00Z") == [f"{A} one"]
    assert server.asked[0][2]["sinceTime"] == "2026-01-01T00:00:00Z"


def test_a_log_that_was_cut_goes_on_where_it_broke(speak: Speak) -> None:
    client, server = speak(
        Say(body=f"{A} one\n{A} two\n{B} thr", cut=True),
        Say(body=f"{A} one\n{A} two\n{B} three\n{B} three\n{C} four\n"),
        pod(terminated={"exitCode": 0}),
    )

    assert read(client, tail=9) == ["one", "two", "three", "three", "four"]
    assert server.asked[1][2]["sinceTime"] == A
    assert "tailLines" not in server.asked[1][2]


def test_a_followed_log_goes_on_where_only_the_server_ended_it(speak: Speak) -> None:
    running = pod(running={"startedAt": "2026-01-01T00:00:00Z"})
    client, _ = speak(
        Say(body=f"{A} one\n"),
        running,
        Say(body=f"{A} one\n{C} two\n"),
        pod(terminated={"exitCode": 0}),
    )

    assert read(client) == ["one", "two"]


def test_a_followed_log_ends_where_the_container_has_begun_again(speak: Speak) -> None:
    again = pod(running={"startedAt": "2026-01-01T00:00:05Z"})
    client, _ = speak(Say(body=f"{A} one\n"), again)

    assert read(client) == ["one"]


def test_a_followed_log_ends_with_its_pod(speak: Speak) -> None:
    gone = Say(404, status(404, "NotFound", 'pods "a" not found'))
    client, _ = speak(Say(body=f"{A} one\n", cut=True), gone)

    assert read(client) == ["one"]


def test_a_log_in_memory_is_what_a_test_writes() -> None:
    memory = Memory()
    spec = objects.pod_template()["spec"]
    run_in_loop(memory.create(objects.of("v1", "Pod", "default", "a", spec=spec), manager="m"))
    with pytest.raises(Invalid, match="waiting to start"):
        read(memory)
    memory.write_log("default", "a", "one", "node")
    lines = iterate_in_loop(memory.logs(LogOf("default", "a", follow=True)))
    assert next(lines) == "one"

    async def rest() -> None:
        memory.write_log("default", "a", "two", "node")
        memory.end_log("default", "a", "node")

    run_in_loop(rest())
    assert list(lines) == ["two"]
    assert read(memory, tail=1) == ["two"]
