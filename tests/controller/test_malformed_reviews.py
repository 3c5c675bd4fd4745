"""Whatever is sent as a review: it is answered, and nothing is accepted that the schema refuses."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.controller import malformed_reviews
from tests.controller.reviews import TORCH, UID, answered, review, trainjob
from tests.fake_api_server.memory import Memory
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller.admission_judgement import (
    MUTATE_TRAIN_JOB,
    PATHS,
    VALIDATE_CLUSTER_TRAINING_RUNTIME,
    VALIDATE_TRAIN_JOB,
    VALIDATE_TRAINING_RUNTIME,
    AdmissionJudge,
)
from trainer_infra.controller.admission_review import AdmissionRequest, MalformedReview, read_review
from trainer_infra.controller.runtime_lookup import ClusterLookups
from trainer_infra.errors import InvalidInput

JSON = dict[str, Any]
JUDGED: Mapping[str, Any] = {
    VALIDATE_TRAIN_JOB: TrainJob,
    VALIDATE_TRAINING_RUNTIME: TrainingRuntime,
    VALIDATE_CLUSTER_TRAINING_RUNTIME: ClusterTrainingRuntime,
}


class Cluster:
    """A judge in an event loop of its own, in whose cluster is one runtime."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        client = Memory()
        self.runner.run(client.create(TORCH, manager="test"))
        self.judge = AdmissionJudge(ClusterLookups(client))
        self.outcomes: Counter[str] = Counter()

    def close(self) -> None:
        self.runner.close()

    def answer(self, path: str, body: bytes) -> JSON:
        answer: JSON = self.runner.run(answered(self.judge, path, body))["response"]
        return answer

    def try_review(self, path: str, body: bytes) -> None:
        """Answer it, and look at the answer."""
        try:
            request = read_review(body)
        except MalformedReview:
            self.outcomes["no review"] += 1
            return
        answer = self.answer(path, body)
        assert answer["uid"] == request.uid
        self.outcomes[str(answer["status"]["code"])] += 1
        if not answer["allowed"]:
            assert answer["status"]["code"] in {400, 403}
            assert answer["status"]["message"]
        elif path in JUDGED:
            self.outcomes["accepted"] += 1
            assert readable(path, request.value) or may_pass(request)


def readable(path: str, value: Any) -> bool:
    """Whether the schema takes an object; what controllers write of its status is not judged."""
    try:
        JUDGED[path].from_wire({key: each for key, each in value.items() if key != "status"})
    except (InvalidInput, AttributeError, RecursionError):
        return False
    return True


def may_pass(request: AdmissionRequest) -> bool:
    """Whether it is nothing new: a deletion, an object that is leaving, a spec as it is stored."""
    if request.operation in {"DELETE", "CONNECT"}:
        return True
    if request.operation != "UPDATE":
        return False
    metadata = request.old.get("metadata")
    leaving = isinstance(metadata, dict) and metadata.get("deletionTimestamp") is not None
    kept = request.old.get("spec") == request.value.get("spec")
    return leaving or (kept and is_sound_apart(request.value))


def is_sound_apart(value: JSON) -> bool:
    """Whether all that the schema refuses is in the spec."""
    return readable(VALIDATE_TRAIN_JOB, {**value, "spec": trainjob()["spec"], "kind": "TrainJob"})


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


SAMPLE = range(2000)
ALL = range(2000, 102_000)


@pytest.mark.verify  # the reference's own runtimes are damaged
@pytest.mark.parametrize(
    "seeds", [SAMPLE, pytest.param(ALL, marks=pytest.mark.soak)], ids=["sample", "all"]
)
def test_no_review_is_a_crash_and_none_is_accepted_that_the_schema_refuses(
    cluster: Cluster, seeds: range
) -> None:
    for seed in seeds:
        cluster.try_review(PATHS[seed % len(PATHS)], malformed_reviews.damaged(seed))
    outcomes = cluster.outcomes
    often = {each for each, count in outcomes.items() if count >= len(seeds) // 50}
    assert often >= {"no review", "accepted", "200", "400", "403"}, outcomes


@given(st.sampled_from(PATHS), st.binary())
def test_any_bytes_are_no_crash(path: str, body: bytes) -> None:
    with closing(Cluster()) as cluster:
        cluster.try_review(path, body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":NaN}}',
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}',
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":""}}',
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"a"}}',
        b'{"apiVersion":"admission.k8s.io/v1","kind":"Pod","request":{"uid":"a"}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_review_is_no_request(body: bytes) -> None:
    with pytest.raises(MalformedReview, match=r"\w{4}"):
        read_review(body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("value", [None, 1, "x", [], True])
def test_an_object_that_is_none_is_a_bad_request(cluster: Cluster, path: str, value: Any) -> None:
    for body in (review(value), review(trainjob(), trainjob(), object=value)):
        answer = cluster.answer(path, body)
        assert (answer["uid"], answer["allowed"], answer["status"]["code"]) == (UID, False, 400)
        assert "request.object is not a JSON object" in answer["status"]["message"]


def test_an_unknown_operation_is_a_bad_request(cluster: Cluster) -> None:
    answer = cluster.answer(MUTATE_TRAIN_JOB, review(trainjob(), operation="PATCH"))
    assert answer["status"]["code"] == 400
    assert "unknown operation 'PATCH'" in answer["status"]["message"]


@pytest.mark.parametrize("field", ["spec", "metadata", "status", "other"])
def test_an_object_that_is_nested_too_deeply_is_no_crash(cluster: Cluster, field: str) -> None:
    """What is said of its status is not judged; the API server drops it."""
    body = review({**trainjob(), field: malformed_reviews.nested(900)})
    code = cluster.answer(VALIDATE_TRAIN_JOB, body)["status"]["code"]
    assert code == (200 if field == "status" else 403)
    environment = {"trainer": {"env": [{"name": "A", "value": malformed_reviews.nested(900)}]}}
    answer = cluster.answer(VALIDATE_TRAIN_JOB, review(trainjob(environment)))
    assert answer["status"]["code"] == 403
