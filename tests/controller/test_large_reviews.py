"""Large objects that somebody sends to the webhooks hold up nobody, and their refusals can be read."""

import asyncio
import threading
from typing import Any

import pytest

from tests.controller.reviews import TORCH, World, answered, review, trainjob
from tests.fake_api_server.memory import Memory
from tools.bench import large_objects
from trainer_infra.controller.admission_judgement import VALIDATE_TRAIN_JOB, AdmissionJudge
from trainer_infra.controller.admission_review import LARGE, LargeReviews
from trainer_infra.controller.runtime_lookup import ClusterLookups
from trainer_infra.errors import MOST_PROBLEMS

SIZE = 2 * LARGE
OBJECTS = list(large_objects.large_objects(SIZE))
RIGHT = {
    "right labels",
    "right variables of a runtime",
    "tolerations of a runtime",
    "words of a runtime's command",
}


@pytest.mark.parametrize(("what", "path", "value"), OBJECTS, ids=[each[0] for each in OBJECTS])
def test_what_is_wrong_with_a_large_object_is_counted_to_a_hundred(
    what: str, path: str, value: dict[str, Any]
) -> None:
    response = World().answer(path, value)
    assert response["allowed"] == (what in RIGHT)
    if what not in RIGHT:
        status = response["status"]
        assert len(status["details"]["causes"]) <= MOST_PROBLEMS + 1
        assert len(status["message"]) < LARGE


async def _judge(seconds: float | None = None) -> AdmissionJudge:
    client = Memory()
    await client.create(TORCH, manager="test")
    large = LargeReviews() if seconds is None else LargeReviews(seconds)
    return AdmissionJudge(ClusterLookups(client), large=large)


LABELLED = review(trainjob(labels={f"label{each}": "a" * 40 for each in range(3000)}))


def test_small_reviews_are_answered_while_a_large_one_is_judged() -> None:
    async def run() -> None:
        judge, held = await _judge(), threading.Event()
        busy = asyncio.ensure_future(judge.large.done(held.wait))
        large = asyncio.create_task(answered(judge, VALIDATE_TRAIN_JOB, LABELLED))
        small = await answered(judge, VALIDATE_TRAIN_JOB, review(trainjob()))
        assert small["response"]["allowed"]
        assert not large.done()
        held.set()
        assert (await large)["response"]["allowed"]
        await busy

    assert len(LABELLED) > LARGE
    asyncio.run(run())


def test_a_review_that_takes_too_long_is_refused_with_what_to_do() -> None:
    async def run() -> dict[str, Any]:
        judge, held = await _judge(0.01), threading.Event()
        busy = asyncio.ensure_future(judge.large.done(held.wait))
        found = await answered(judge, VALIDATE_TRAIN_JOB, LABELLED)
        held.set()
        await busy
        return dict(found["response"]["status"])

    status = asyncio.run(run())
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert status["message"] == (
        f"{len(LABELLED)} bytes were not judged within 0.01 s; make the object smaller, or try again later"
    )
