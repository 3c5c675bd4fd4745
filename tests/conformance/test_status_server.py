"""Reference behaviour 6: what the status server takes from pods, and what it answers."""

import base64
import json
from typing import Any

import pytest

from from_source.cluster.client import Answer
from tests.cluster_programs import NewServer
from tests.conformance import managers, objects, reports, webhooks
from tests.conformance.implementations import Apart
from tests.conformance.managers import RunningManager
from tests.conformance.places import Place
from tests.conformance.reports import Reporter
from tests.conformance.rules import rule

JSON = dict[str, Any]

TIME = "2026-01-02T03:04:05Z"
PROGRESS = {
    "progressPercentage": 40,
    "estimatedRemainingSeconds": 120,
    "metrics": [{"name": "loss", "value": "0.5"}, {"name": "accuracy", "value": "0.9"}],
    "lastUpdatedTime": TIME,
}
LARGE = json.dumps({"trainerStatus": {"metrics": [{"name": "m", "value": "1"}] * 2_600}})


@pytest.fixture
def reporter(place: Place) -> Reporter:
    return reports.reporter(place)


def assert_failure(answer: Answer, code: int, reason: str, message: str) -> None:
    """The answer is a Status of that failure."""
    told = {key: answer.body.get(key) for key in ("status", "reason", "message", "code")}
    assert told == {"status": "Failure", "reason": reason, "message": message, "code": code}
    assert answer.status == code


def assert_forbidden(answer: Answer) -> None:
    assert_failure(answer, 403, "Forbidden", "Forbidden")


def stored(place: Place) -> JSON:
    progress: JSON = place.status().get("trainerStatus", {})
    return progress


@rule("6-accepted", "6-applied")
def test_a_report_is_stored_and_answered_with_itself(reporter: Reporter) -> None:
    body = {"trainerStatus": PROGRESS}
    answer = reporter.send(body)
    assert (answer.status, answer.body) == (200, body)
    assert stored(reporter.place) == PROGRESS
    fields = reporter.place.find("TrainJob", "a")["metadata"]["managedFields"]
    owner = next(
        each for each in fields if "f:trainerStatus" in each["fieldsV1"].get("f:status", ())
    )
    told = (owner["manager"], owner["operation"], owner["subresource"])
    assert told == ("trainer-status", "Apply", "status")


@rule("6-replaced")
def test_a_report_replaces_the_one_before_it(reporter: Reporter) -> None:
    reporter.send({"trainerStatus": PROGRESS})
    last = {"progressPercentage": 41, "lastUpdatedTime": TIME}
    answer = reporter.send({"trainerStatus": last})
    assert answer.status == 200
    assert stored(reporter.place) == last


@rule("6-unknown-fields")
def test_fields_that_it_does_not_know_are_left_out(reporter: Reporter) -> None:
    body = {"trainerStatus": {**PROGRESS, "phase": "warm"}, "more": [1]}
    answer = reporter.send(body)
    assert (answer.status, answer.body) == (200, {"trainerStatus": PROGRESS})
    assert stored(reporter.place) == PROGRESS


@rule("6-empty")
@pytest.mark.parametrize("body", [{}, {"trainerStatus": None}, {"other": 1}])
def test_a_report_of_nothing_stores_nothing(reporter: Reporter, body: JSON) -> None:
    answer = reporter.send(body)
    assert (answer.status, answer.body) == (200, {})
    assert reporter.place.status() == {}


@rule("6-other-path")
def test_another_path_is_not_found(reporter: Reporter) -> None:
    headers = {"Authorization": f"Bearer {reporter.token}"}
    path = reports.status_path(reporter.place)
    for other in (
        "/",
        path.removesuffix("/status"),
        f"{path}/more",
        path.replace("v1alpha1", "v1"),
    ):
        answer = reports.request(reporter.place, other, b"{}", headers)
        assert_failure(answer, 404, "NotFound", "Not found")


@rule("6-other-method")
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_another_method_is_not_found(place: Place, method: str) -> None:
    answer = reports.request(place, reports.status_path(place), b"{}", {}, method)
    assert_failure(answer, 404, "NotFound", "Not found")


@rule("6-no-json")
@pytest.mark.parametrize("body", ["nonsense", "", "{"])
def test_what_is_no_json_is_refused(reporter: Reporter, body: str) -> None:
    assert_failure(reporter.send(body), 422, "Invalid", "Invalid payload")


@rule("6-wrong-type")
@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        {"trainerStatus": 1},
        {"trainerStatus": {**PROGRESS, "progressPercentage": "40"}},
        {"trainerStatus": {**PROGRESS, "progressPercentage": 4.5}},
        {"trainerStatus": {**PROGRESS, "lastUpdatedTime": "now"}},
        {"trainerStatus": {**PROGRESS, "metrics": [{"name": "loss", "value": 0.5}]}},
    ],
)
def test_json_of_another_form_is_refused(reporter: Reporter, body: Any) -> None:
    sent = '"text"' if body == "text" else body
    assert_failure(reporter.send(sent), 422, "Invalid", "Invalid payload")
    assert stored(reporter.place) == {}


@rule("6-refused-by-schema")
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        (
            "progressPercentage",
            101,
            (
                "status.trainerStatus.progressPercentage: Invalid value: 101: "
                "trainerStatus.progressPercentage in body should be less than or equal to 100"
            ),
        ),
        (
            "estimatedRemainingSeconds",
            -1,
            (
                "status.trainerStatus.estimatedRemainingSeconds: Invalid value: -1: "
                "trainerStatus.estimatedRemainingSeconds in body should be greater than or equal to 0"
            ),
        ),
        (
            "metrics",
            [{"name": "m" * 65, "value": "1"}],
            (
                "[status.trainerStatus.metrics[0].name: Too long: may not be more than 64 bytes, <nil>: "
                "Invalid value: null: some validation rules were not checked because the object was "
                "invalid; correct the existing errors to complete validation]"
            ),
        ),
    ],
)
def test_what_the_schema_refuses_is_said_in_the_servers_words(
    reporter: Reporter, field: str, value: Any, said: str
) -> None:
    answer = reporter.send({"trainerStatus": {**PROGRESS, field: value}})
    message = f'TrainJob.trainer.kubeflow.org "a" is invalid: {said}'
    assert_failure(answer, 422, "Invalid", message)
    assert stored(reporter.place) == {}


@rule("6-no-train-job")
def test_a_train_job_that_is_not_there_is_not_found(reporter: Reporter) -> None:
    reporter.place.delete("TrainJob", "a")
    answer = reporter.send({"trainerStatus": PROGRESS})
    assert_failure(answer, 404, "NotFound", "Train job not found")
    assert reporter.place.find("TrainJob", "a") == {}


@rule("6-too-large")
def test_too_much_is_refused_by_its_length(reporter: Reporter) -> None:
    answer = reporter.send(LARGE)
    assert_failure(answer, 413, "RequestEntityTooLarge", "Payload too large")


@rule("6-too-large-in-chunks")
def test_too_much_in_chunks_is_an_invalid_payload(reporter: Reporter) -> None:
    parts = (LARGE[start : start + 8_192].encode() for start in range(0, len(LARGE), 8_192))
    headers = {"Authorization": f"Bearer {reporter.token}"}
    answer = reports.request(reporter.place, reports.status_path(reporter.place), parts, headers)
    assert_failure(answer, 422, "Invalid", "Invalid payload")


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(None, marks=rule("6-no-token")),
        pytest.param("", marks=rule("6-no-token")),
        pytest.param("Bearer", marks=rule("6-several-credentials")),
        pytest.param("Bearer {token} {token}", marks=rule("6-several-credentials")),
        pytest.param("Basic {token}", marks=rule("6-other-scheme")),
        pytest.param("{token}", marks=rule("6-other-scheme")),
    ],
)
def test_without_one_token_it_is_forbidden(reporter: Reporter, form: str | None) -> None:
    headers = {} if form is None else {"Authorization": form.format(token=reporter.token)}
    path = reports.status_path(reporter.place)
    assert_forbidden(reports.request(reporter.place, path, b"{}", headers))


@rule("6-scheme")
@pytest.mark.parametrize("form", ["bearer {}", "BEARER {}", "Bearer   {}"])
def test_the_scheme_may_be_in_any_case(reporter: Reporter, form: str) -> None:
    headers = {"Authorization": form.format(reporter.token)}
    path = reports.status_path(reporter.place)
    assert reports.request(reporter.place, path, b"{}", headers).status == 200


@rule("6-signature")
def test_a_token_that_the_cluster_has_not_signed_is_forbidden(reporter: Reporter) -> None:
    content, _, signature = reporter.token.rpartition(".")
    first = "A" if signature[0] != "A" else "B"
    assert_forbidden(reporter.send({}, f"{content}.{first}{signature[1:]}"))


@rule("6-expired")
def test_a_token_that_has_expired_is_forbidden(reporter: Reporter) -> None:
    again = reports.signed_again(reporter.place, reporter.token)
    assert reporter.send({}, again).status == 200
    past = {"iat": 1_700_000_000, "nbf": 1_700_000_000, "exp": 1_700_003_600}
    assert_forbidden(
        reporter.send({}, reports.signed_again(reporter.place, reporter.token, **past))
    )


@rule("6-audience")
def test_a_token_for_another_train_job_is_forbidden(reporter: Reporter) -> None:
    place = reporter.place
    pod = place.find("Pod", "a-node-0-0-abcde")
    assert_forbidden(reporter.send({}, name="b"))
    assert_forbidden(
        reporter.send({}, reports.issued(place, reports.audience(place, "b"), pod=pod))
    )
    assert_forbidden(reporter.send({}, reports.issued(place, pod=pod)))


@rule("6-namespace")
def test_a_token_of_another_namespace_is_forbidden(reporter: Reporter) -> None:
    place = reporter.place
    other = Place(place.manager, f"{place.name}-other", frozenset())
    namespace = {"metadata": {"name": other.name}}
    assert place.manager.client.create("/api/v1/namespaces", namespace).message == ""
    other.add({"kind": "ServiceAccount", "metadata": {"name": reports.ACCOUNT}})
    assert_forbidden(reporter.send({}, reports.issued(other, reports.audience(place))))


@rule("6-pod", differs=(Apart.REPORTS,))
def test_the_token_need_not_be_that_of_a_pod_of_the_train_job(reporter: Reporter) -> None:
    place = reporter.place
    spec = {"containers": [objects.container()], "serviceAccountName": reports.ACCOUNT}
    pod = place.add({"kind": "Pod", "metadata": {"name": "stranger"}, "spec": spec})
    for token in (
        reports.issued(place, reports.audience(place)),
        reports.issued(place, reports.audience(place), pod=pod),
    ):
        answer = reporter.send({}, token)
        if place.deviates(Apart.REPORTS):
            assert_forbidden(answer)
        else:
            assert answer.status == 200


@rule("6-pod-variables")
def test_the_trainers_containers_know_how_to_report(place: Place) -> None:
    sidecar, setup = objects.container("sidecar"), objects.container("setup")
    first = objects.job(containers=[objects.container(), sidecar], initContainers=[setup])
    place.add(objects.runtime("runtime", first, objects.job("other", None)), objects.train_job())
    job_set = place.job_set()
    for name in ("node", "sidecar"):
        container = objects.only(job_set, "node", name)
        variables = objects.variables(container)
        port = place.manager.status_port
        path = f"https://{webhooks.HOST}:{port}{reports.status_path(place)}"
        assert variables["KUBEFLOW_TRAINER_SERVER_URL"] == path
        folder = "/var/run/secrets/kubeflow/trainer"
        assert variables["KUBEFLOW_TRAINER_SERVER_CA_CERT"] == f"{folder}/ca.crt"
        assert variables["KUBEFLOW_TRAINER_SERVER_TOKEN"] == f"{folder}/token"
        (mount,) = container["volumeMounts"]
        assert mount == {"name": "kubeflow-trainer-token", "mountPath": folder, "readOnly": True}
    pod = objects.pod_spec(job_set)
    (volume,) = pod["volumes"]
    token, authority = volume["projected"]["sources"]
    assert token["serviceAccountToken"] == {
        "audience": reports.audience(place),
        "expirationSeconds": 3600,
        "path": "token",
    }
    assert authority["configMap"] == {
        "name": "a-tls-config",
        "items": [{"key": "ca.crt", "path": "ca.crt"}],
    }
    assert "env" not in pod["initContainers"][0]
    assert "env" not in objects.only(job_set, "other")


@rule("6-authority", differs=(Apart.CHILDREN,))
def test_the_authority_is_in_a_config_map_of_the_train_job(place: Place) -> None:
    place.add(objects.runtime())
    train_job = place.add(objects.train_job())
    found = place.until(lambda: place.find("ConfigMap", "a-tls-config"))
    authority = {"ca.crt": place.manager.status_authority.read_text()}
    assert found["data"] == authority
    assert found["metadata"]["ownerReferences"][0]["uid"] == train_job["metadata"]["uid"]
    changed = {"ca.crt": "other"}
    place.change("ConfigMap", "a-tls-config", {"data": changed})
    if place.deviates(Apart.CHILDREN):
        place.settle()
        assert place.find("ConfigMap", "a-tls-config")["data"] == changed
    else:
        place.until(lambda: place.find("ConfigMap", "a-tls-config")["data"] == authority)


@rule("6-gate")
def test_without_the_feature_gate_there_is_no_status_server(
    manager: RunningManager,
    own_api_server: NewServer,
) -> None:
    with managers.running(manager.implementation, own_api_server, reports=False) as other:
        place = Place(other, "default", frozenset())
        place.add(objects.runtime(), objects.train_job())
        names = objects.variables(objects.only(place.job_set()))
        assert not [each for each in names if each.startswith("KUBEFLOW_TRAINER_SERVER")]
        assert place.find("ConfigMap", "a-tls-config") == {}
        with pytest.raises(ConnectionRefusedError):
            reports.request(place, reports.status_path(place), b"{}", {})


@rule("5-authority")
def test_the_managers_authority_is_where_the_server_looks_for_it(manager: RunningManager) -> None:
    bundle = base64.b64encode(manager.status_authority.read_bytes()).decode()
    for kind, name in webhooks.CONFIGURATIONS.items():
        found = manager.client.get(f"{webhooks.API}/{kind.lower()}s/{name}").body
        assert found["webhooks"]
        assert {each["clientConfig"]["caBundle"] for each in found["webhooks"]} == {bundle}
    path = f"/api/v1/namespaces/{webhooks.NAMESPACE}/secrets/{webhooks.SECRET}"
    assert {"ca.crt", "tls.crt", "tls.key"} <= set(manager.client.get(path).body["data"])
