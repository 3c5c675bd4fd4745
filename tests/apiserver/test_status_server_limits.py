"""What the status server spares its API server, and what it does without one: on a real one."""

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from from_source.cluster.waiting import wait_until
from tests.apiserver.accounts import Account, Request
from tests.apiserver.reporting_pods import TRAINER, Cluster, client, cluster, kubernetes
from tests.controller.served_reports import TIME, Served, failure, served
from tests.kube.real_server import RealServer
from trainer_infra.controller.pod_token import TokenVerdicts, token_claims
from trainer_infra.controller.report_rate import Rate
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.controller.training_metrics import TrainingMetrics
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop

__all__ = ["client", "cluster", "kubernetes"]
FORBIDDEN = failure(403, "Forbidden", "Forbidden")
OFTEN = Rate(1000.0, 1000)
NEVER_AGAIN = 0.001
"""A rate at which no bucket gets a token while a test runs."""
SETTINGS = StatusServerSettings(
    host="127.0.0.1", port=0, pod_rate=OFTEN, train_job_rate=OFTEN, review_rate=OFTEN
)
Serve = Callable[[StatusServerSettings], Served]


@dataclass
class Clock:
    now: float

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def serve(client: KubeClient, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with settings of the test."""
    with ExitStack() as ending:

        def start(settings: StatusServerSettings) -> Served:
            return ending.enter_context(served(client, tmp_path, settings))

        yield start


def reviews(kubernetes: RunningServer) -> int:
    """How many tokens the API server has reviewed."""
    text = Account(kubernetes.address).send(Request("GET", "/metrics")).text
    counts = re.findall(
        r'^apiserver_request_total\{.*resource="tokenreviews".*\} (\d+)', text, re.MULTILINE
    )
    return sum(map(int, counts))


def signed(claims: dict[str, Any], key: bytes) -> str:
    """A token as the API server signs it."""
    private = serialization.load_pem_private_key(key, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    parts = [coded(json.dumps(each).encode()) for each in ({"alg": "ES256"}, claims)]
    signature = private.sign(".".join(parts).encode(), ec.ECDSA(hashes.SHA256()))
    numbers = utils.decode_dss_signature(signature)
    return ".".join((*parts, coded(b"".join(each.to_bytes(32, "big") for each in numbers))))


def coded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def code(server: Served, cluster: Cluster, token: str, name: str = "tj") -> int:
    return server.post(cluster.namespace, name, token).status


def test_a_token_that_has_expired_is_forbidden(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    server = serve(SETTINGS)
    claims = dict(token_claims(cluster.token(cluster.run())))
    key = (kubernetes.folder / "service-accounts.key").read_bytes()
    good, past = claims, claims | {"exp": claims["iat"] - 3600, "iat": claims["iat"] - 7200}

    assert code(server, cluster, signed(good, key)) == 200
    assert code(server, cluster, signed(past, key)) == 403


@pytest.mark.parametrize(
    "changed",
    [
        {"kubernetes.io": None},
        {"kubernetes.io": {"namespace": "default"}},
        {"aud": "trainer.kubeflow.org"},
        {"aud": None},
        {"exp": None},
        {"exp": True},
        {"exp": "soon"},
        {"exp": 10**400},
        {"exp": float("nan")},
        {"iss": "https://elsewhere"},
    ],
)
def test_a_token_that_is_signed_and_says_something_else_is_forbidden(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer, changed: dict[str, Any]
) -> None:
    claims = dict(token_claims(cluster.token(cluster.run())))
    key = (kubernetes.folder / "service-accounts.key").read_bytes()
    found = serve(SETTINGS).post(cluster.namespace, "tj", signed(claims | changed, key))

    assert (found.status, found.body) == FORBIDDEN


@pytest.mark.parametrize("token", ["x", "a.b", "a.b.c", "..", "a.b.c.d", "a.W10.c", "a.bnVsbA.c"])
def test_what_is_no_token_is_refused_without_a_question(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer, token: str
) -> None:
    server, before = serve(SETTINGS), reviews(kubernetes)

    assert code(server, cluster, token) == 403
    assert reviews(kubernetes) == before


def test_a_token_for_another_train_job_is_refused_without_a_question(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    token, server = cluster.token(cluster.run()), serve(SETTINGS)
    before = reviews(kubernetes)

    assert code(server, cluster, token, "other") == 403
    assert reviews(kubernetes) == before


def test_a_good_token_is_reviewed_once_and_again_after_its_time(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    clock = Clock(0.0)
    server = serve(replace(SETTINGS, verdicts=TokenVerdicts(monotonic=clock)))
    pod = cluster.run()
    token = cluster.token(pod)
    before = reviews(kubernetes)
    assert [code(server, cluster, token) for _ in range(5)] == [200] * 5
    assert reviews(kubernetes) == before + 1

    cluster.delete("pods", pod["metadata"]["name"])
    clock.now = 119.0
    assert code(server, cluster, token) == 200

    def is_forbidden() -> bool:
        clock.now += 121.0
        return code(server, cluster, token) == 403

    # The API server itself goes by what it knows of a token for some seconds.
    assert wait_until(is_forbidden, 60.0)
    assert reviews(kubernetes) > before + 1


def test_a_bad_token_is_reviewed_once_and_again_after_its_time(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    clock = Clock(0.0)
    server = serve(replace(SETTINGS, verdicts=TokenVerdicts(monotonic=clock)))
    pod = cluster.run()
    token = cluster.token(pod)
    cluster.delete("pods", pod["metadata"]["name"])
    before = reviews(kubernetes)
    assert [code(server, cluster, token) for _ in range(20)] == [403] * 20
    assert reviews(kubernetes) == before + 1

    clock.now = 11.0
    assert code(server, cluster, token) == 403
    assert reviews(kubernetes) == before + 2


def test_a_token_is_not_remembered_for_longer_than_it_is_good(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    wall = Clock(time.time() + 3600.0 - 30.0)
    clock = Clock(0.0)
    server = serve(replace(SETTINGS, verdicts=TokenVerdicts(monotonic=clock, wall=wall)))
    token = cluster.token(cluster.run(), expirationSeconds=3600)
    before = reviews(kubernetes)
    assert [code(server, cluster, token) for _ in range(3)] == [200] * 3
    clock.now = 31.0
    assert code(server, cluster, token) == 200
    assert reviews(kubernetes) == before + 2


def test_a_clock_that_is_far_ahead_refuses_no_good_token(serve: Serve, cluster: Cluster) -> None:
    wall = Clock(time.time() + 10.0**8)
    server = serve(replace(SETTINGS, verdicts=TokenVerdicts(wall=wall)))
    token = cluster.token(cluster.run())

    assert [code(server, cluster, token) for _ in range(3)] == [200] * 3


def test_pods_of_a_job_have_the_way_to_their_train_job_in_common(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    def reads(plural: str) -> int:
        text = Account(kubernetes.address).send(Request("GET", "/metrics")).text
        lines = re.findall(r"^apiserver_request_total(\{.*\}) (\d+)", text, re.MULTILINE)
        wanted = (f'resource="{plural}"', 'verb="GET"')
        return sum(int(count) for labels, count in lines if all(each in labels for each in wanted))

    server = serve(SETTINGS)
    job = cluster.job(cluster.jobset(cluster.train_job()))
    tokens = [cluster.token(cluster.pod(job)) for _ in range(5)]
    before = {plural: reads(plural) for plural in ("pods", "jobs", "jobsets")}

    assert [code(server, cluster, token) for token in tokens] == [200] * 5
    assert {plural: reads(plural) - count for plural, count in before.items()} == {
        "pods": 5,
        "jobs": 1,
        "jobsets": 1,
    }


def too_many(message: str, wait: int) -> tuple[int, dict[str, Any]]:
    status, body = failure(429, "TooManyRequests", message)
    return status, {**body, "details": {"retryAfterSeconds": wait}}


def test_a_pod_that_reports_too_often_is_sent_away(serve: Serve, cluster: Cluster) -> None:
    server = serve(replace(SETTINGS, pod_rate=Rate(NEVER_AGAIN, 3)))
    job = cluster.job(cluster.jobset(cluster.train_job()))
    first, second = (cluster.token(cluster.pod(job)) for _ in range(2))
    assert [code(server, cluster, first) for _ in range(3)] == [200] * 3
    refused = server.post(cluster.namespace, "tj", first, {"progressPercentage": 9})

    assert (refused.status, refused.body) == too_many(
        "Too many reports of this pod", int(refused.headers["Retry-After"])
    )
    assert 990 <= int(refused.headers["Retry-After"]) <= 1000
    assert code(server, cluster, second) == 200
    assert cluster.stored()["status"]["trainerStatus"]["progressPercentage"] == 1


def test_a_train_job_that_reports_too_often_is_sent_away(serve: Serve, cluster: Cluster) -> None:
    server = serve(replace(SETTINGS, train_job_rate=Rate(NEVER_AGAIN, 3)))
    job = cluster.job(cluster.jobset(cluster.train_job()))
    tokens = [cluster.token(cluster.pod(job)) for _ in range(4)]
    other = cluster.token(cluster.run("other"), "other")

    assert [code(server, cluster, token) for token in tokens] == [200, 200, 200, 429]
    assert code(server, cluster, other, "other") == 200


def test_a_flood_of_unknown_tokens_is_cut_off_and_known_ones_go_on(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    server = serve(replace(SETTINGS, review_rate=Rate(NEVER_AGAIN, 4)))
    good = cluster.token(cluster.run())
    assert code(server, cluster, good) == 200
    head, claims, _ = good.split(".")
    before = reviews(kubernetes)
    flood = [f"{head}.{claims}.{coded(bytes([number] * 64))}" for number in range(30)]

    assert [code(server, cluster, token) for token in flood] == [403] * 3 + [429] * 27
    assert reviews(kubernetes) == before + 3
    assert code(server, cluster, good) == 200


def test_without_its_api_server_it_says_so_and_goes_on_when_it_is_back(
    restartable_api_server: Callable[[], AbstractContextManager[RealServer]], tmp_path: Path
) -> None:
    with restartable_api_server() as kubernetes:
        made = run_in_loop(http.connect_client(str(kubernetes.kubeconfig)))
        with served(made, tmp_path, replace(SETTINGS, ask=1.0, answer=5.0)) as server:
            with Client(kubernetes.address) as user:
                cluster = Cluster(user)
                token = cluster.token(cluster.run())
                fresh = cluster.token(cluster.run("other"), "other")
                assert code(server, cluster, token) == 200
            kubernetes.stop_serving()
            for name, each in (("tj", token), ("other", fresh)):
                reply = server.post(cluster.namespace, name, each)
                assert (reply.status, reply.body) == failure(500, "InternalError", "Internal error")
            assert server.post(cluster.namespace, "tj", "x").status == 403
            kubernetes.serve_again()
            with Client(kubernetes.address) as user:
                again = Cluster(user)
                assert code(server, again, again.token(again.run())) == 200
                assert server.post(cluster.namespace, "tj", token).status == 200
        run_in_loop(made.close())


def test_reports_and_the_controllers_own_writes_lose_nothing_of_each_other(
    serve: Serve, cluster: Cluster, kubernetes: RunningServer
) -> None:
    server, token = serve(SETTINGS), cluster.token(cluster.run())
    merge = Account(kubernetes.address, extra={"Content-Type": "application/merge-patch+json"})
    path = f"{TRAINER}/namespaces/{cluster.namespace}/trainjobs/tj/status?fieldManager=controller"
    writes = 40
    seen: list[dict[str, Any]] = []
    assert server.post(cluster.namespace, "tj", token, {"progressPercentage": 0}).status == 200

    def status(number: int) -> dict[str, Any]:
        counts = ("ready", "succeeded", "failed", "active", "suspended")
        condition = {
            "type": "Suspended",
            "status": "True",
            "reason": f"R{number}",
            "message": "m",
            "lastTransitionTime": TIME,
        }
        jobs = {"name": "node", **dict.fromkeys(counts, number)}
        return {"conditions": [condition], "jobsStatus": [jobs]}

    def control() -> None:
        for number in range(writes):
            reply = merge.send(Request("PATCH", path, {"status": status(number)}))
            seen.append(reply.body["status"])

    controller = threading.Thread(target=control)
    controller.start()
    answers = [
        server.post(cluster.namespace, "tj", token, {"progressPercentage": number}).status
        for number in range(writes)
    ]
    controller.join()

    assert answers == [200] * writes
    expected = {"progressPercentage": writes - 1, "lastUpdatedTime": TIME}
    assert cluster.stored()["status"] == {**status(writes - 1), "trainerStatus": expected}
    for number, found in enumerate(seen):
        assert {key: found[key] for key in ("conditions", "jobsStatus")} == status(number)
        assert found["trainerStatus"]["progressPercentage"] in range(writes)


def test_many_pods_at_once_are_all_answered_and_the_status_is_one_of_theirs(
    serve: Serve, cluster: Cluster
) -> None:
    server = serve(SETTINGS)
    job = cluster.job(cluster.jobset(cluster.train_job()))
    tokens = [cluster.token(cluster.pod(job)) for _ in range(16)]
    codes: list[int] = []

    def report(number: int) -> None:
        for _ in range(5):
            found = server.post(
                cluster.namespace, "tj", tokens[number], {"progressPercentage": number}
            )
            codes.append(found.status)

    threads = [threading.Thread(target=report, args=(number,)) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert codes == [200] * 80
    assert cluster.stored()["status"]["trainerStatus"]["progressPercentage"] in range(16)


def test_what_is_stored_has_series(client: KubeClient, cluster: Cluster, tmp_path: Path) -> None:
    metrics = TrainingMetrics()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    status = {"progressPercentage": 42, "lastUpdatedTime": now}
    with served(client, tmp_path, SETTINGS, metrics) as server:
        token = cluster.token(cluster.run())
        assert server.post(cluster.namespace, "tj", token, status).status == 200
    samples = {each.name: each.value for family in metrics.collect() for each in family.samples}

    assert samples["trainer_infra_training_progress_ratio"] == 0.42
