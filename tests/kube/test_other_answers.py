"""What a client makes of answers that no API server gives: each is one sentence, and an error of ours."""

import json
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from tests.kube import objects
from tests.kube.certificate import self_signed
from tests.kube.real_server import RealServer
from tests.kube.scripted import Say, Speak, config, gathered, status
from trainer_infra.errors import NotAvailable
from trainer_infra.kube import http
from trainer_infra.kube.client import LogOf, ObjectSelection
from trainer_infra.kube.loop import iterate_in_loop, run_in_loop
from trainer_infra.kube.refusals import (
    Answer,
    Forbidden,
    NotKubernetes,
    NotServed,
    Unauthorized,
    Unreachable,
)
from trainer_infra.kube.request_retry import Patience
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET

PAGE = "<!doctype html><html><head><title>Sign in &amp; go\n on</title></head><body>" + "x" * 9000
FOUND = Say(body=objects.config_map("default"))

HTML = "text/html"
TITLED = "a page titled 'Sign in & go on'"
FOREIGN = {
    "a login page": (Say(200, PAGE, content_type=HTML), f"{TITLED} (200 text/html)"),
    "an endless page": (
        Say(200, "<p>" + PAGE * 1000, content_type=HTML),
        f"{TITLED} (200 text/html)",
    ),
    "a redirect": (
        Say(302, "", {"Location": "https://u:p@login.example/start?state=secret"}),
        "a redirect (302) to https://login.example/start",
    ),
    "a redirect to nowhere": (Say(307, ""), "a redirect (307) to a place that it does not name"),
    "a list": (
        Say(200, "[1]", content_type="application/json"),
        "a JSON list where an object was asked for",
    ),
    "a string": (
        Say(200, '"a"', content_type="application/json"),
        "a JSON string where an object was asked for",
    ),
    "null": (
        Say(200, "null", content_type="application/json"),
        "a JSON null where an object was asked for",
    ),
    "another kind": (
        Say(body={"kind": "Pod", "metadata": {}}),
        "a Pod where a ConfigMap was asked for",
    ),
    "no kind": (
        Say(body={"error": "none"}),
        "an object without a kind where a ConfigMap was asked for",
    ),
    "no metadata": (
        Say(body={"kind": "ConfigMap"}),
        "a ConfigMap that lacks what every such object has",
    ),
    "another content type": (
        Say(200, json.dumps(FOUND.body)),
        f"{json.dumps(FOUND.body)} (200 text/plain)",
    ),
    "a page with 403": (Say(403, PAGE, content_type=HTML), f"status 403 and {TITLED}"),
    "a page with 404": (Say(404, PAGE, content_type=HTML), f"status 404 and {TITLED}"),
    "another's JSON with 404": (
        Say(404, {"message": "no route"}),
        'status 404 and {"message": "no route"}',
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_no_api_server_answers_is_one_sentence_and_not_tried_again(
    speak: Speak, name: str
) -> None:
    say, shown = FOREIGN[name]
    client, server = speak(say)
    with pytest.raises(NotKubernetes) as refused:
        run_in_loop(client.get(CONFIG_MAP, "a", "default"))

    said = str(refused.value)
    doubt = "" if shown.startswith("a redirect") else "is a proxy or a login in between? "
    assert said == (
        f"the server {server.url} answered `read ConfigMap default/a` with {shown}, "
        f"which is not an answer of Kubernetes; {doubt}sign in again, or correct the server in the kubeconfig"
    )
    assert len(server.asked) == 1


BROKEN = {
    "broken JSON": Say(200, '{"kind": "ConfigMap", ', content_type="application/json"),
    "a body that is empty": Say(200, "", content_type="application/json"),
    "a body that breaks off": Say(
        200, '{"kind"', {"Content-Length": "100"}, cut=True, content_type="application/json"
    ),
    "broken compression": Say(
        200, "no gzip", {"Content-Encoding": "gzip"}, content_type="application/json"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_arrives_broken_is_asked_for_again(speak: Speak, name: str) -> None:
    client, server = speak(BROKEN[name], BROKEN[name], FOUND)

    assert run_in_loop(client.get(CONFIG_MAP, "a", "default")) == FOUND.body
    assert len(server.asked) == 3


@pytest.mark.parametrize("name", BROKEN)
def test_one_that_always_arrives_broken_is_one_sentence(speak: Speak, name: str) -> None:
    client, server = speak(BROKEN[name], give_up_after=3.0)
    with pytest.raises((NotKubernetes, Unreachable)) as refused:
        run_in_loop(client.get(CONFIG_MAP, "a", "default"))

    assert any(
        words in str(refused.value)
        for words in ("JSON that is cut off or broken", "an empty body", "the answer broke off")
    )
    assert "<" not in str(refused.value)
    assert len(server.asked) > 1


@pytest.mark.parametrize("name", FOREIGN)
def test_a_kind_is_not_taken_for_missing_because_of_such_an_answer(speak: Speak, name: str) -> None:
    client, _ = speak(FOREIGN[name][0])
    with pytest.raises(NotKubernetes):
        run_in_loop(client.resource(JOBSET.api_version, JOBSET.kind))


def test_a_path_that_an_api_server_does_not_know_is_a_kind_that_is_not_served(speak: Speak) -> None:
    client, _ = speak(Say(404, "404 page not found"))
    with pytest.raises(NotServed):
        run_in_loop(client.resource(JOBSET.api_version, JOBSET.kind))


@pytest.mark.parametrize(
    "items", [{"items": 3}, {"items": ["a"]}, {"items": [], "metadata": {}}, {"items": [[]]}]
)
def test_a_list_that_is_none_is_one_sentence(speak: Speak, items: objects.JSON) -> None:
    client, _ = speak(Say(body={"kind": "ConfigMapList", "metadata": {}, **items}))
    with pytest.raises(NotKubernetes, match="a ConfigMapList that lacks"):
        run_in_loop(client.list(ObjectSelection(CONFIG_MAP, "default")))


@pytest.mark.parametrize("name", ["a login page", "a redirect", "an endless page"])
def test_a_watch_and_a_log_say_the_same(speak: Speak, name: str) -> None:
    client, _ = speak(FOREIGN[name][0])
    with pytest.raises(NotKubernetes, match="`watch configmaps of default` with a"):
        next(iterate_in_loop(client.watch(ObjectSelection(CONFIG_MAP, "default"), "1")))
    with pytest.raises(NotKubernetes, match="`read the log of default/a` with a"):
        run_in_loop(gathered(client.logs(LogOf("default", "a"))))


@pytest.mark.parametrize("line", ["[]", "{}", "no", '{"type": "ADDED", "object": 1}'])
def test_a_watch_of_lines_that_are_no_events_is_given_up(speak: Speak, line: str) -> None:
    client, server = speak(Say(body=f"{line}\n"), give_up_after=2.0)
    with pytest.raises(NotKubernetes, match="a line that is not an event"):
        next(iterate_in_loop(client.watch(ObjectSelection(CONFIG_MAP), "1")))

    assert len(server.asked) > 1


def test_a_line_of_a_log_without_a_time_is_shown(speak: Speak) -> None:
    client, _ = speak(Say(body="2026-01-01T00:00:01Z one\nunable to read more\n"))

    wanted = LogOf("default", "a", since="2026-01-01T00:00:00Z")
    assert run_in_loop(gathered(client.logs(wanted))) == [
        "2026-01-01T00:00:01Z one",
        "2026-01-01T00:00:01Z unable to read more",
    ]


@pytest.mark.parametrize("body", [status(401, "Unauthorized", "Unauthorized"), PAGE])
def test_who_is_not_known_is_told_to_sign_in_again(speak: Speak, body: objects.JSON | str) -> None:
    client, server = speak(Say(401, body, content_type=HTML))
    with pytest.raises(Unauthorized, match="sign in again: the credentials in the kubeconfig"):
        run_in_loop(client.get(CONFIG_MAP, "a", "default"))

    assert len(server.asked) == 2


def test_a_right_that_is_missing_is_named(speak: Speak) -> None:
    words = 'configmaps "a" is forbidden: User "me" cannot get resource "configmaps"'
    client, _ = speak(Say(403, status(403, "Forbidden", words)))
    with pytest.raises(Forbidden, match='cannot get resource "configmaps"'):
        run_in_loop(client.get(CONFIG_MAP, "a", "default"))


def test_a_page_of_a_server_in_trouble_is_shown_by_its_title(speak: Speak) -> None:
    page = "<html><head><title>503 Service Unavailable</title></head></html>"
    client, _ = speak(Say(503, page, content_type=HTML), give_up_after=0.5)
    with pytest.raises(Unreachable, match="a page titled '503 Service Unavailable'"):
        run_in_loop(client.get(CONFIG_MAP, "a", "default"))


def test_a_webhook_is_given_up_before_a_submit_would_be(speak: Speak) -> None:
    words = 'Internal error occurred: failed calling webhook "w": service "none" not found'
    client, _ = speak(Say(500, status(500, "InternalError", words)), give_up_after=60.0)
    with pytest.raises(Answer, match='failed calling webhook "w"') as refused:
        run_in_loop(client.within(18.0).get(CONFIG_MAP, "a", "default"))

    assert "500" in str(refused.value)


def test_what_is_given_up_early_says_what_happened_last(speak: Speak) -> None:
    client, _ = speak(Say(503, "etcd has no leader"), give_up_after=60.0)
    with pytest.raises(Unreachable, match="etcd has no leader"):
        run_in_loop(client.within(0.5).get(CONFIG_MAP, "a", "default"))

    late = client.within(0.0)
    with pytest.raises(TimeoutError):
        run_in_loop(late.get(CONFIG_MAP, "a", "default"))
    with pytest.raises(Unreachable, match="etcd has no leader"):
        run_in_loop(late.within(0.5).get(CONFIG_MAP, "a", "default"))


def test_a_silent_server_has_no_reason_to_name(speak: Speak) -> None:
    client, _ = speak(Say(body=FOUND.body, after=60.0), give_up_after=60.0)
    with pytest.raises(TimeoutError):
        run_in_loop(client.within(0.5).get(CONFIG_MAP, "a", "default"))


def asked(server: str, **cluster: str) -> str:
    """What is said of a server that cannot be talked to."""
    text = json.dumps(config(server, **cluster))
    client = run_in_loop(http.connect_client(text, None, Patience(first_contact=0.5)))
    with pytest.raises(NotAvailable) as refused:
        run_in_loop(client.get(CONFIG_MAP, "none", "default"))
    run_in_loop(client.close())
    assert "0x" not in str(refused.value)
    assert "ssl:" not in str(refused.value)
    assert "\n" not in str(refused.value)
    return str(refused.value).partition(" s: ")[2]


def test_why_there_is_no_connection_is_in_words(server: RealServer, speak: Speak) -> None:
    _, plain = speak(FOUND)
    port = plain.url.rpartition(":")[2]
    assert asked("https://127.0.0.1:1") == "Connection refused"
    assert asked("https://no-such-host.invalid").startswith(
        "the name no-such-host.invalid is not known ("
    )
    assert asked(f"https://127.0.0.1:{port}") == (
        "it does not speak TLS; is `https://` right in the kubeconfig's server?"
    )
    assert asked(f"https://127.0.0.1:{server.relay.port}") == (
        "certificate verify failed, its authority is unknown (self-signed certificate in "
        "certificate chain); is this the right server? correct server or certificate-authority in "
        "the kubeconfig"
    )
    authority = {"certificate-authority": str(server.address.certificate)}
    other = asked(f"https://127.0.0.1:{server.relay.port}", **authority, **{"tls-server-name": "x"})
    assert other.startswith("certificate verify failed, it is for another name (Hostname mismatch")
    assert other.endswith("or set tls-server-name to a name that the certificate has")
    proxied = asked(f"https://127.0.0.1:{server.relay.port}", **{"proxy-url": "http://127.0.0.1:1"})
    assert proxied == "the proxy 127.0.0.1:1 does not answer (Connection refused)"


def test_a_certificate_that_has_expired_is_said(tmp_path: Path) -> None:
    file = tmp_path / "old.pem"
    file.write_bytes(b"".join(self_signed("old", ends=timedelta(days=-1))))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(file)

    async def serve() -> tuple[web.AppRunner, int]:
        runner = web.AppRunner(web.Application())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        return runner, int(runner.addresses[0][1])

    runner, port = run_in_loop(serve())
    said = asked(f"https://127.0.0.1:{port}", **{"certificate-authority": str(file)})
    run_in_loop(runner.cleanup())

    assert said == (
        "certificate verify failed, it has expired; renew the server's certificate, or correct "
        "this machine's clock"
    )
