"""What is tried again of a server in trouble, and what is not."""

import asyncio
import json
import time

import pytest

from tests.kube import objects
from tests.kube.scripted import Say, Speak, status
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.kube.loop import iterate_in_loop, run_in_loop
from trainer_infra.kube.refusals import Answer, Conflict, Expired, Forbidden, Invalid, Unreachable
from trainer_infra.kube.resource import CONFIG_MAP
from trainer_infra.kube.transport import AT_ONCE

FOUND = Say(body=objects.config_map("default"))
CORE = Say(
    body={
        "kind": "APIResourceList",
        "resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True}],
    },
)
WEBHOOK = Say(500, status(500, "InternalError", 'failed calling webhook "w": no endpoints'))


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_read_is_tried_again(speak: Speak, code: int) -> None:
    client, server = speak(Say(code, "busy"), Say(code, "busy"), FOUND)

    assert run_in_loop(client.get(CONFIG_MAP, "a", "default")) == FOUND.body
    assert len(server.asked) == 3


def test_the_servers_own_time_is_waited_for(speak: Speak) -> None:
    client, _ = speak(Say(429, "busy", {"Retry-After": "1"}), FOUND)
    began = time.monotonic()
    run_in_loop(client.get(CONFIG_MAP, "a", "default"))

    assert time.monotonic() - began >= 1.0


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_webhook_that_is_not_ready_yet_is_waited_for(speak: Speak, verb: str) -> None:
    client, server = speak(CORE, WEBHOOK, WEBHOOK, FOUND)
    do = client.create if verb == "create" else client.apply

    assert run_in_loop(do(objects.config_map("default"), manager="m")) == FOUND.body
    assert len(server.asked) == 4


def test_a_webhook_that_is_never_ready_is_named(speak: Speak) -> None:
    client, _ = speak(CORE, WEBHOOK, give_up_after=1.0)
    with pytest.raises(Answer, match='failed calling webhook "w"'):
        run_in_loop(client.apply(objects.config_map("default"), manager="m"))


def test_a_server_that_stays_busy_is_unreachable(speak: Speak) -> None:
    client, server = speak(Say(503, "busy"), give_up_after=1.0)
    with pytest.raises(Unreachable, match="503") as refused:
        run_in_loop(client.get(CONFIG_MAP, "a", "default"))

    assert f"after {len(server.asked)} tries" in str(refused.value)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (409, "Conflict", Conflict),
        (403, "Forbidden", Forbidden),
        (422, "Invalid", Invalid),
        (400, "BadRequest", Invalid),
    ],
)
def test_a_no_is_not_tried_again(speak: Speak, code: int, reason: str, kind: type[Answer]) -> None:
    client, server = speak(CORE, Say(code, status(code, reason, "no")))
    with pytest.raises(kind):
        run_in_loop(client.apply(objects.config_map("default"), manager="m"))

    assert len(server.asked) == 2


def test_a_webhook_that_says_no_is_not_tried_again(speak: Speak) -> None:
    denied = 'admission webhook "w" denied the request: no'
    client, server = speak(CORE, Say(403, status(403, "Forbidden", denied)))
    with pytest.raises(Forbidden, match="denied the request"):
        run_in_loop(client.create(objects.config_map("default"), manager="m"))

    assert len(server.asked) == 2


def test_an_object_without_a_name_is_not_created_twice(speak: Speak) -> None:
    client, server = speak(CORE, Say(504, status(504, "Timeout", "request did not complete")))
    value = objects.config_map("default", metadata={"generateName": "a-"})
    del value["metadata"]["name"]
    with pytest.raises(Unreachable, match="did not complete"):
        run_in_loop(client.create(value, manager="m"))

    assert len(server.asked) == 2


def event(kind: str, name: str, version: int) -> str:
    value = objects.config_map("default", name)
    value["metadata"]["resourceVersion"] = str(version)
    return json.dumps({"type": kind, "object": value}) + "\n"


def test_a_watch_whose_line_was_cut_gets_it_from_the_next_connection(speak: Speak) -> None:
    half = event("ADDED", "b", 3)[:40]
    client, server = speak(
        Say(body=event("ADDED", "a", 2) + half, cut=True), Say(body=event("ADDED", "b", 3))
    )
    changes = iterate_in_loop(client.watch(ObjectSelection(CONFIG_MAP, "default"), "1"))

    assert [next(changes).value["metadata"]["name"] for _ in range(2)] == ["a", "b"]
    changes.close()
    assert [query["resourceVersion"] for _, _, query in server.asked][:2] == ["1", "2"]


def test_a_watch_that_the_server_ends_with_a_410_has_expired(speak: Speak) -> None:
    said = status(410, "Expired", "too old resource version: 1 (5)")
    client, _ = speak(Say(body=json.dumps({"type": "ERROR", "object": said}) + "\n"))
    with pytest.raises(Expired, match="too old resource version"):
        next(iterate_in_loop(client.watch(ObjectSelection(CONFIG_MAP), "1")))


def test_a_watch_that_always_ends_with_an_error_is_given_up(speak: Speak) -> None:
    said = status(500, "InternalError", "unable to decode watch event")
    line = json.dumps({"type": "ERROR", "object": said}) + "\n"
    client, server = speak(Say(body=line), give_up_after=2.0)
    with pytest.raises(Answer, match="unable to decode watch event"):
        next(iterate_in_loop(client.watch(ObjectSelection(CONFIG_MAP), "1")))

    assert len(server.asked) > 1


def test_many_requests_wait_for_one_another_without_losing_patience(speak: Speak) -> None:
    client, server = speak(Say(body=FOUND.body, after=0.5), give_up_after=2.0)

    async def all_read() -> int:
        reads = (client.get(CONFIG_MAP, "a", "default") for _ in range(AT_ONCE * 6))
        return len(await asyncio.gather(*reads))

    assert run_in_loop(all_read()) == len(server.asked) == AT_ONCE * 6
    assert server.most_at_once == AT_ONCE


def test_requests_that_wait_for_a_silent_server_lose_patience_together(speak: Speak) -> None:
    client, _ = speak(Say(body=FOUND.body, after=60.0), give_up_after=1.0)

    async def all_read() -> list[object]:
        reads = (client.get(CONFIG_MAP, "a", "default") for _ in range(AT_ONCE * 3))
        return list(await asyncio.gather(*reads, return_exceptions=True))

    began = time.monotonic()
    assert {type(each) for each in run_in_loop(all_read())} == {Unreachable}
    assert time.monotonic() - began < 30.0
