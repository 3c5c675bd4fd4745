"""The status server of the manager on a real API server: reference behaviour 6, and who may report."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.apiserver.accounts import Account, Request
from tests.apiserver.reporting_pods import TRAINER, Cluster, client, cluster, kubernetes, owner
from tests.controller.served_reports import TIME, Served, failure, served
from trainer_infra import names
from trainer_infra.controller.report_rate import Rate
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.kube.client import KubeClient
from trainer_infra.progress import handler

__all__ = ["client", "cluster", "kubernetes"]
FORBIDDEN = failure(403, "Forbidden", "Forbidden")
OFTEN = Rate(1000.0, 1000)
SETTINGS = StatusServerSettings(
    host="127.0.0.1", port=0, pod_rate=OFTEN, train_job_rate=OFTEN, review_rate=OFTEN
)


@pytest.fixture(scope="module")
def server(client: KubeClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(client, tmp_path_factory.mktemp("server"), SETTINGS) as started:
        yield started


def answer(
    server: Served, cluster: Cluster, token: str, name: str = "tj", **status: Any
) -> tuple[int, dict[str, Any]]:
    reply = server.post(cluster.namespace, name, token, status)
    return reply.status, reply.body


def test_a_report_of_a_pod_of_the_train_job_is_stored_and_echoed(
    server: Served, cluster: Cluster
) -> None:
    pod = cluster.run()
    metrics = [{"name": "loss <&>", "value": "0.5"}]
    full = {"progressPercentage": 7, "estimatedRemainingSeconds": 9, "metrics": metrics}
    reply = server.post(cluster.namespace, "tj", cluster.token(pod), full)

    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.body == {"trainerStatus": {**full, "lastUpdatedTime": TIME}}
    stored = cluster.stored()
    assert stored["status"]["trainerStatus"] == {**full, "lastUpdatedTime": TIME}
    managers = [
        (each["manager"], each["operation"], each.get("subresource"))
        for each in stored["metadata"]["managedFields"]
        if each["manager"] == "trainer-status"
    ]
    assert managers == [("trainer-status", "Apply", "status")]


def test_a_report_replaces_the_last_one(server: Served, cluster: Cluster) -> None:
    token = cluster.token(cluster.run())
    answer(server, cluster, token, progressPercentage=5, metrics=[{"name": "a", "value": "1"}])

    assert answer(server, cluster, token, estimatedRemainingSeconds=3)[0] == 200
    assert cluster.stored()["status"]["trainerStatus"] == {
        "estimatedRemainingSeconds": 3,
        "lastUpdatedTime": TIME,
    }


@pytest.mark.parametrize("body", [{}, {"trainerStatus": None}, {"other": 1}])
def test_without_a_trainer_status_nothing_is_written(
    server: Served, cluster: Cluster, body: dict[str, Any]
) -> None:
    headers = {"Authorization": f"bearer {cluster.token(cluster.run())}"}
    path = handler.path_of(cluster.namespace, "tj")
    reply = server.request("POST", path, json.dumps(body), headers)

    assert (reply.status, reply.content) == (200, b"{}\n")
    assert "status" not in cluster.stored()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_is_case_insensitive(server: Served, cluster: Cluster, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {cluster.token(cluster.run())}"}
    path = handler.path_of(cluster.namespace, "tj")

    assert server.request("POST", path, "{}", headers).status == 200


@pytest.mark.parametrize(
    "form", ["{0}", "Basic {0}", "Bearer {0} {0}", "Bearer", "", "Bearer {0},"]
)
def test_anything_but_one_bearer_token_is_forbidden(
    server: Served, cluster: Cluster, form: str
) -> None:
    headers = {"Authorization": form.format(cluster.token(cluster.run()))}
    reply = server.request("POST", handler.path_of(cluster.namespace, "tj"), "{}", headers)

    assert (reply.status, reply.body) == FORBIDDEN


def test_a_report_without_a_credential_is_forbidden(server: Served, cluster: Cluster) -> None:
    cluster.run()
    reply = server.request("POST", handler.path_of(cluster.namespace, "tj"), "{}")

    assert (reply.status, reply.body) == FORBIDDEN


@pytest.mark.parametrize(
    "audiences",
    [
        ["https://kubernetes.default.svc"],
        ["trainer.kubeflow.org/v1alpha1/namespaces/other/trainjobs/tj/status"],
        ["trainer.kubeflow.org"],
    ],
)
def test_a_token_for_another_audience_is_forbidden(
    server: Served, cluster: Cluster, audiences: list[str]
) -> None:
    token = cluster.token(cluster.run(), audiences=audiences)

    assert answer(server, cluster, token) == FORBIDDEN


def test_a_token_with_one_more_audience_is_good(server: Served, cluster: Cluster) -> None:
    audiences = ["vault", handler.audience_of(cluster.namespace, "tj")]

    assert answer(server, cluster, cluster.token(cluster.run(), audiences=audiences))[0] == 200


def test_a_token_that_is_bound_to_nothing_is_forbidden(server: Served, cluster: Cluster) -> None:
    cluster.run()

    assert answer(server, cluster, cluster.token(None)) == FORBIDDEN


def test_a_token_that_is_bound_to_a_secret_is_forbidden(server: Served, cluster: Cluster) -> None:
    pod = cluster.run()
    name = pod["metadata"]["name"]
    secret = cluster.core("secrets", {"metadata": {"name": name}, "kind": "Secret"})

    assert answer(server, cluster, cluster.token({"kind": "Secret", **secret})) == FORBIDDEN


def test_a_token_of_a_deleted_pod_is_forbidden(server: Served, cluster: Cluster) -> None:
    pod = cluster.run()
    token = cluster.token(pod)
    cluster.delete("pods", pod["metadata"]["name"])

    assert answer(server, cluster, token) == FORBIDDEN


def test_a_token_with_another_signature_is_forbidden(server: Served, cluster: Cluster) -> None:
    mine, other = (cluster.token(cluster.pod(None)) for _ in range(2))
    forged = ".".join((*cluster.token(cluster.run()).split(".")[:2], mine.split(".")[2]))

    assert answer(server, cluster, forged) == FORBIDDEN
    assert answer(server, cluster, other) == FORBIDDEN


def test_a_pod_of_another_train_job_is_forbidden(server: Served, cluster: Cluster) -> None:
    cluster.run("other")
    pod = cluster.run("tj")

    assert answer(server, cluster, cluster.token(pod, "other"), "other") == FORBIDDEN
    assert answer(server, cluster, cluster.token(pod, "tj"), "tj")[0] == 200


def test_a_pod_of_another_namespace_is_forbidden(server: Served, cluster: Cluster) -> None:
    cluster.run()
    elsewhere = Cluster(cluster.client)
    audiences = [handler.audience_of(cluster.namespace, "tj")]
    token = elsewhere.token(elsewhere.run(), audiences=audiences)

    assert answer(server, cluster, token) == FORBIDDEN


def test_a_pod_with_the_label_alone_is_forbidden(server: Served, cluster: Cluster) -> None:
    cluster.run()
    pod = cluster.pod(None, labels={names.JOBSET_NAME_LABEL: "tj"})

    assert answer(server, cluster, cluster.token(pod)) == FORBIDDEN


def test_a_pod_that_names_the_job_and_does_not_match_its_selector_is_forbidden(
    server: Served, cluster: Cluster
) -> None:
    job = cluster.job(cluster.jobset(cluster.train_job()))
    labels = {names.JOBSET_NAME_LABEL: "tj", "batch.kubernetes.io/controller-uid": "another"}
    pod = cluster.pod(None, labels=labels, ownerReferences=[owner(job)])

    assert answer(server, cluster, cluster.token(pod)) == FORBIDDEN


def test_a_pod_that_the_job_does_not_control_is_forbidden(server: Served, cluster: Cluster) -> None:
    job = cluster.job(cluster.jobset(cluster.train_job()))
    beside = {**owner(job), "controller": False}

    assert answer(server, cluster, cluster.token(cluster.pod(job, ownerReferences=[beside]))) == (
        FORBIDDEN
    )


def test_a_pod_that_names_a_job_of_another_uid_is_forbidden(
    server: Served, cluster: Cluster
) -> None:
    job = cluster.job(cluster.jobset(cluster.train_job()))
    stale = {**owner(job), "uid": "00000000-0000-0000-0000-000000000000"}

    assert answer(server, cluster, cluster.token(cluster.pod(job, ownerReferences=[stale]))) == (
        FORBIDDEN
    )


def test_a_job_of_ones_own_below_the_jobset_is_forbidden(server: Served, cluster: Cluster) -> None:
    jobset = cluster.jobset(cluster.train_job())
    for name in ("mine", "tj-node-1", "tj-other-0"):
        pod = cluster.pod(cluster.job(jobset, name))
        assert answer(server, cluster, cluster.token(pod)) == FORBIDDEN
    assert answer(server, cluster, cluster.token(cluster.pod(cluster.job(jobset))))[0] == 200


def test_a_jobset_of_ones_own_below_the_train_job_is_forbidden(
    server: Served, cluster: Cluster
) -> None:
    job = cluster.job(cluster.jobset(cluster.train_job(), "mine"))
    labels = {**job["spec"]["template"]["metadata"]["labels"], names.JOBSET_NAME_LABEL: "tj"}

    assert answer(server, cluster, cluster.token(cluster.pod(job, labels=labels))) == FORBIDDEN


def test_a_jobset_of_no_train_job_is_forbidden(server: Served, cluster: Cluster) -> None:
    cluster.train_job()
    other = cluster.core("configmaps", {"metadata": {"name": "tj"}})
    jobset = cluster.jobset({"apiVersion": "v1", "kind": "ConfigMap", **other})

    assert answer(server, cluster, cluster.token(cluster.pod(cluster.job(jobset)))) == FORBIDDEN


def test_a_pod_of_an_earlier_train_job_of_the_name_is_forbidden(
    server: Served, cluster: Cluster
) -> None:
    token = cluster.token(cluster.run())
    assert answer(server, cluster, token)[0] == 200
    cluster.delete("trainjobs", "tj", TRAINER)
    cluster.train_job()

    assert answer(server, cluster, token) == FORBIDDEN
    assert "status" not in cluster.stored()


def test_a_train_job_that_is_gone_is_not_found(server: Served, cluster: Cluster) -> None:
    token = cluster.token(cluster.run())
    cluster.delete("trainjobs", "tj", TRAINER)

    assert answer(server, cluster, token) == failure(404, "NotFound", "Train job not found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "{}"),
        ("PUT", "{}"),
        ("PATCH", "{}"),
        ("DELETE", "{}"),
        ("POST", "/"),
        ("POST", "{}/"),
        ("POST", "{}/x"),
        ("POST", "/healthz"),
        ("POST", "/apis/trainer.kubeflow.org/v1alpha1/trainjobs/tj/status"),
        ("OPTIONS", "*"),
    ],
)
def test_anything_else_is_not_found(
    server: Served, cluster: Cluster, method: str, path: str
) -> None:
    headers = {"Authorization": f"Bearer {cluster.token(cluster.run())}"}
    where = path.format(handler.path_of(cluster.namespace, "tj"))
    reply = server.request(method, where, "{}", headers)

    assert (reply.status, reply.body) == failure(404, "NotFound", "Not found")


def test_a_body_over_the_limit_is_too_large(server: Served, cluster: Cluster) -> None:
    headers = {"Authorization": f"Bearer {cluster.token(cluster.run())}"}
    path = handler.path_of(cluster.namespace, "tj")
    longest = b"{}" + b" " * (handler.LARGEST_BODY - 2)
    too_large = server.request("POST", path, longest + b" ", headers)
    chunked = server.request("POST", path, iter([longest, b" "]), headers)

    assert server.request("POST", path, longest, headers).status == 200
    assert (too_large.status, too_large.body) == failure(
        413, "RequestEntityTooLarge", "Payload too large"
    )
    assert (chunked.status, chunked.body) == failure(422, "Invalid", "Invalid payload")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"trainerStatus": 5}'])
def test_what_cannot_be_decoded_is_an_invalid_payload(
    server: Served, cluster: Cluster, body: bytes
) -> None:
    headers = {"Authorization": f"Bearer {cluster.token(cluster.run())}"}
    reply = server.request("POST", handler.path_of(cluster.namespace, "tj"), body, headers)

    assert (reply.status, reply.body) == failure(422, "Invalid", "Invalid payload")


def metric(name: str, value: str = "1") -> dict[str, str]:
    return {"name": name, "value": value}


def causes(message: str) -> list[str]:
    """What a message says, in an order: the API server has none."""
    head, _, tail = message.partition(" is invalid: ")
    return [head, *sorted(tail.strip("[]").split(", "))]


@pytest.mark.parametrize(
    "status",
    [
        {"progressPercentage": 101},
        {"progressPercentage": -1},
        {"estimatedRemainingSeconds": -1},
        {"estimatedRemainingSeconds": -1, "progressPercentage": 2**31 - 1},
        {"metrics": [metric("")]},
        {"metrics": [metric("a", "")]},
        {"metrics": [metric("é" * 65)]},
        {"metrics": [metric("a", "x" * 65), metric("", "x" * 65)]},
        {"metrics": [metric("a")] * 257},
        {"metrics": [metric("")] * 257},
        {"lastUpdatedTime": None},
        {"lastUpdatedTime": None, "progressPercentage": 101},
        {"lastUpdatedTime": None, "metrics": [metric("a" * 65)]},
    ],
)
def test_what_the_schema_refuses_is_invalid_in_the_words_of_the_api_server(
    server: Served, cluster: Cluster, kubernetes: RunningServer, status: dict[str, Any]
) -> None:
    token = cluster.token(cluster.run())
    given = {"lastUpdatedTime": TIME, **status}
    before = cluster.stored()
    sent = {key: value for key, value in given.items() if value is not None}
    applied = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "tj"},
        "status": {"trainerStatus": sent},
    }
    path = f"{TRAINER}/namespaces/{cluster.namespace}/trainjobs/tj/status"
    query = f"{path}?fieldManager=trainer-status&force=true"
    said = Account(kubernetes.address).send(Request("PATCH", query, applied)).body
    code, body = answer(server, cluster, token, **status)

    assert (code, said["code"], said["reason"]) == (422, 422, "Invalid")
    assert causes(body["message"]) == causes(said["message"])
    assert (code, body) == failure(422, "Invalid", body["message"])
    assert cluster.stored() == before


def test_a_connection_is_kept_for_the_next_report(server: Served, cluster: Cluster) -> None:
    headers = {"Authorization": f"Bearer {cluster.token(cluster.run())}"}
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.port, timeout=60, context=server.context()
    )
    connection.connect()
    kept = connection.sock
    for _ in range(3):
        connection.request("POST", handler.path_of(cluster.namespace, "tj"), "{}", headers)
        assert connection.getresponse().read() == b"{}\n"

    assert connection.sock is kept
    connection.close()


def test_the_servers_own_metrics_count_answers_by_status(server: Served, cluster: Cluster) -> None:
    def count(code: str) -> float:
        name = "trainer_infra_status_answer_seconds_count"
        return server.registry.get_sample_value(name, {"code": code}) or 0.0

    before = {code: count(code) for code in ("200", "403")}
    token = cluster.token(cluster.run())
    answer(server, cluster, token)
    answer(server, cluster, token + "x")

    assert {code: count(code) - before[code] for code in before} == {"200": 1, "403": 1}


def test_no_token_stands_in_an_answer_or_a_log(
    server: Served, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    token = cluster.token(cluster.run())
    caplog.set_level(0)
    found = [server.post(cluster.namespace, "tj", token + end).content for end in ("", "x")]
    found.append(server.raw(f"POST\r\nAuthorization: Bearer {token}\r\n\r\n".encode()))

    assert [token.encode() in each for each in found] == [False, False, False]
    assert token not in caplog.text
