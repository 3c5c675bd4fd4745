"""How long the webhooks need for large objects, and what becomes of small reviews meanwhile, as JSON.

Run by `tools/bench/run.py` as a process of its own. Of each object the median seconds of a whole answer, and
of the small reviews that came at the same time the longest.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Collection
from typing import Any, Final

import orjson
from typing_extensions import override

from tools.bench import core, large_objects
from trainer_infra import catalog
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import admission_review
from trainer_infra.controller.admission_judgement import VALIDATE_TRAIN_JOB, AdmissionJudge
from trainer_infra.controller.runtime_lookup import AdmissionLookups
from trainer_infra.json_values import JSONObject

ROUNDS: Final = 3
PAUSE: Final = 0.02
"""Seconds between two small reviews."""
AIMS: Final = {
    "slowest large review": 2.0,
    "slowest small review beside large ones": 1.0,
}


class _Shipped(AdmissionLookups):
    """A cluster that has the shipped runtimes alone."""

    @override
    async def runtime(self, job: TrainJob) -> Runtime | None:
        return catalog.get(job.spec.runtime_ref.name)

    @override
    async def jobset(self, job: TrainJob) -> JSONObject | None:
        return None

    @override
    async def snapshot(self, job: TrainJob) -> JSONObject | None:
        return None

    @override
    async def priority_classes(self, wanted: Collection[str]) -> Collection[str] | None:
        return wanted


def main() -> None:
    """Measure and print."""
    seconds, small = asyncio.run(_measured())
    found = {
        "slowest large review": max(seconds.values()),
        "slowest small review beside large ones": small,
    }
    print(json.dumps({"measured": found, "aims": AIMS, "large reviews": seconds}))


async def _measured() -> tuple[dict[str, float], float]:
    judge = AdmissionJudge(_Shipped())
    small = _body(core.wire("torch-distributed", 2))
    seconds: dict[str, float] = {}
    longest: list[float] = []
    for name, path, value in large_objects.large_objects():
        body = _body(value)
        rounds = []
        for _ in range(ROUNDS):
            answer = asyncio.create_task(_seconds(judge, path, body))
            while not answer.done():
                longest.append(await _seconds(judge, VALIDATE_TRAIN_JOB, small))
                await asyncio.sleep(PAUSE)
            rounds.append(answer.result())
        seconds[name] = round(statistics.median(rounds), 3)
    return seconds, round(max(longest), 3)


async def _seconds(judge: AdmissionJudge, path: str, body: bytes) -> float:
    began = time.perf_counter()
    request = admission_review.read_review(body)
    admission_review.write_review(request.uid, await judge.response(path, request))
    return time.perf_counter() - began


def _body(value: dict[str, Any]) -> bytes:
    request = {"uid": "u", "operation": "CREATE", "namespace": "team", "object": value}
    return orjson.dumps(
        {
            "apiVersion": admission_review.API_VERSION,
            "kind": admission_review.KIND,
            "request": request,
        }
    )


if __name__ == "__main__":
    main()
