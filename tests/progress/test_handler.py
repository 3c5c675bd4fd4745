"""The progress protocol: requests in, responses out, byte for byte."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.progress import handler
from trainer_infra.progress.handler import Reporter, ReportRefusal, Request, Response

PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ns/trainjobs/tj/status"
TIME = "2026-01-02T03:04:05Z"


@dataclass
class Jobs:
    """The TrainJobs of a namespace: authenticator and store of the handler."""

    kept: dict[str, Any] = field(default_factory=dict)
    missing: bool = False

    async def reporter(self, token: str, namespace: str, name: str) -> Reporter | None:
        known = (token, namespace, name) == ("good", "ns", "tj")
        return Reporter("pod-0") if known else None

    async def replace(
        self, namespace: str, name: str, reporter: Reporter, status: Mapping[str, Any]
    ) -> bool:
        if not self.missing:
            self.kept[f"{namespace}/{name}/{reporter.pod}"] = dict(status)
        return not self.missing


def post(
    body: object,
    jobs: Jobs | None = None,
    *,
    path: str = PATH,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
) -> Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"authorization": "Bearer good", "content-length": str(len(content))}
    request = Request(method, path, {**given, **(headers or {})}, content)
    store = Jobs() if jobs is None else jobs
    return asyncio.run(handler.handle_request(request, store, store))


def failure(code: int, reason: str, message: str) -> Response:
    said = json.dumps(message).replace("<", "\\u003c").replace(">", "\\u003e")
    text = (
        f'{{"metadata":{{}},"status":"Failure","message":{said},'
        f'"reason":"{reason}","code":{code}}}\n'
    )
    return Response(code, text.encode())


def test_a_report_is_kept_and_echoed() -> None:
    jobs = Jobs()
    status = {
        "metrics": [{"value": "0.5", "name": "loss <&>", "unit": "x"}],
        "lastUpdatedTime": "2026-01-02T04:04:05.678+01:00",
        "estimatedRemainingSeconds": 9,
        "progressPercentage": 0,
        "unknown": 1,
    }

    assert post({"trainerStatus": status, "more": 1}, jobs) == Response(
        200,
        b'{"trainerStatus":{"progressPercentage":0,"estimatedRemainingSeconds":9,'
        b'"metrics":[{"name":"loss \\u003c\\u0026\\u003e","value":"0.5"}],'
        b'"lastUpdatedTime":"2026-01-02T03:04:05Z"}}\n',
    )
    assert jobs.kept == {
        "ns/tj/pod-0": {
            "progressPercentage": 0,
            "estimatedRemainingSeconds": 9,
            "metrics": [{"name": "loss <&>", "value": "0.5"}],
            "lastUpdatedTime": TIME,
        }
    }


def test_a_report_replaces_the_last_one() -> None:
    jobs = Jobs()
    post({"trainerStatus": {"progressPercentage": 5, "lastUpdatedTime": TIME}}, jobs)
    post({"trainerStatus": {"metrics": None, "lastUpdatedTime": TIME}}, jobs)

    assert jobs.kept == {"ns/tj/pod-0": {"lastUpdatedTime": TIME}}


@pytest.mark.parametrize("body", [{}, {"trainerStatus": None}, b"null", {"x": 1}, b"{} trailing"])
def test_without_a_trainer_status_nothing_is_written(body: object) -> None:
    jobs = Jobs()

    assert post(body, jobs) == Response(200, b"{}\n")
    assert jobs.kept == {}


@pytest.mark.parametrize(
    "header",
    ["", "good", "Basic good", "Bearer", "Bearer bad", "Bearer good more", "Bearer  "],
)
def test_anything_but_one_valid_credential_is_forbidden(header: str) -> None:
    assert post({}, headers={"authorization": header}) == failure(403, "Forbidden", "Forbidden")


@pytest.mark.parametrize("header", ["bearer good", "BEARER   good", " Bearer good "])
def test_the_scheme_is_case_insensitive(header: str) -> None:
    assert post({}, headers={"authorization": header}).status == 200


def test_a_token_of_another_job_is_forbidden() -> None:
    path = PATH.replace("/tj/", "/other/")

    assert post({}, path=path) == failure(403, "Forbidden", "Forbidden")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", PATH), ("PUT", PATH), ("POST", "/"), ("POST", f"{PATH}/x"), ("POST", PATH[1:])],
)
def test_anything_else_is_not_found(method: str, path: str) -> None:
    assert post({}, method=method, path=path) == failure(404, "NotFound", "Not found")


def test_a_missing_train_job_is_not_found() -> None:
    body = {"trainerStatus": {"lastUpdatedTime": TIME}}

    assert post(body, Jobs(missing=True)) == failure(404, "NotFound", "Train job not found")


def test_a_body_over_the_limit_is_too_large_before_anything_else() -> None:
    too_large = failure(413, "RequestEntityTooLarge", "Payload too large")
    headers = {"content-length": str(64 * 1024 + 1), "authorization": ""}

    assert post(b"", headers=headers, path="/") == too_large
    assert post(b" " * (64 * 1024 - 2) + b"{}").status == 200


def test_a_body_over_the_limit_without_a_length_is_invalid() -> None:
    body = b" " * (64 * 1024 + 1)

    assert post(body, headers={"content-length": ""}) == failure(422, "Invalid", "Invalid payload")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"NaN",
        b"[" * 60000,
        {"trainerStatus": []},
        {"trainerStatus": {"progressPercentage": 1.5}},
        {"trainerStatus": {"progressPercentage": "1"}},
        {"trainerStatus": {"progressPercentage": True}},
        {"trainerStatus": {"estimatedRemainingSeconds": 2**31}},
        {"trainerStatus": {"metrics": {}}},
        {"trainerStatus": {"metrics": [{"name": "a", "value": 1}]}},
        {"trainerStatus": {"lastUpdatedTime": "yesterday"}},
        {"trainerStatus": {"lastUpdatedTime": "2026-01-02T03:04:05"}},
        {"trainerStatus": {"lastUpdatedTime": "20260102T030405Z"}},
        {"trainerStatus": {"lastUpdatedTime": "0001-01-01T00:00:00+14:00"}},
        {"trainerStatus": {"lastUpdatedTime": 5}},
    ],
)
def test_what_go_cannot_decode_is_an_invalid_payload(body: object) -> None:
    assert post(body) == failure(422, "Invalid", "Invalid payload")


def test_half_a_character_is_replaced_as_in_go() -> None:
    jobs = Jobs()
    body = b'{"trainerStatus": {"lastUpdatedTime": "0999-01-02T03:04:05.9Z", '
    body += b'"metrics": [{"name": "a\\ud800", "value": "\\udfff"}]}}'

    assert post(body, jobs).status == 200
    assert jobs.kept["ns/tj/pod-0"] == {
        "metrics": [{"name": "a\ufffd", "value": "\ufffd"}],
        "lastUpdatedTime": "0999-01-02T03:04:05Z",
    }


def test_a_refusal_of_an_authenticator_or_a_store_is_answered_as_a_status() -> None:
    refusal = ReportRefusal(429, "TooManyRequests", "Too many reports", retry_after=3)

    assert refusal.response() == Response(
        429,
        b'{"metadata":{},"status":"Failure","message":"Too many reports",'
        b'"reason":"TooManyRequests","details":{"retryAfterSeconds":3},"code":429}\n',
        {"Retry-After": "3"},
    )


T = "status.trainerStatus"
INSIDE = "trainerStatus"
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (
            {"progressPercentage": 101},
            (
                f"{T}.progressPercentage: Invalid value: 101: {INSIDE}.progressPercentage in body should be "
                "less than or equal to 100"
            ),
        ),
        (
            {"progressPercentage": -1},
            (
                f"{T}.progressPercentage: Invalid value: -1: {INSIDE}.progressPercentage in body should be "
                "greater than or equal to 0"
            ),
        ),
        (
            {"estimatedRemainingSeconds": -1},
            (
                f"{T}.estimatedRemainingSeconds: Invalid value: -1: {INSIDE}.estimatedRemainingSeconds in "
                "body should be greater than or equal to 0"
            ),
        ),
        (
            {"metrics": [{"name": "", "value": "v" * 65}]},
            (
                f'[{T}.metrics[0].name: Invalid value: "": {INSIDE}.metrics[0].name in body should be at '
                f"least 1 chars long, {T}.metrics[0].value: Too long: may not be more than 64 bytes, {UNCHECKED}]"
            ),
        ),
        (
            {"metrics": [{"name": "n", "value": "v"}] * 257},
            f"[{T}.metrics: Too many: 257: must have at most 256 items, {UNCHECKED}]",
        ),
        (
            {"lastUpdatedTime": None},
            (
                f'{T}: Invalid value: "object": lastUpdatedTime is required when trainerStatus is '
                "present"
            ),
        ),
    ],
)
def test_a_broken_limit_is_said_as_the_api_server_says_it(
    status: dict[str, Any], cause: str
) -> None:
    message = f'TrainJob.trainer.kubeflow.org "tj" is invalid: {cause}'
    jobs = Jobs()
    body = {"trainerStatus": {"lastUpdatedTime": TIME, **status}}

    assert post(body, jobs) == failure(422, "Invalid", message)
    assert jobs.kept == {}


def test_limits_are_inclusive() -> None:
    status = {
        "progressPercentage": 100,
        "estimatedRemainingSeconds": 2**31 - 1,
        "metrics": [{"name": "n" * 64, "value": "v" * 64}] * 256,
        "lastUpdatedTime": TIME,
    }

    assert post({"trainerStatus": status}).status == 200


@given(st.binary() | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["trainerStatus", "metrics", "name", "value", "lastUpdatedTime", "x"]), inner
    ),
))  # fmt: skip
def test_any_body_gets_an_answer(body: object) -> None:
    assert post(body).status in {200, 422}
