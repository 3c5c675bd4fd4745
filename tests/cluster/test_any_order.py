"""Whatever the order in which two processes work, and wherever they are killed."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from tests.cluster.relayed import Relayed
from tests.cluster.submissions import OTHER, SECRET, Job
from tests.fake_api_server.memory import Memory
from trainer_infra.cluster import delete, submit
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.errors import TrainerInfraError
from trainer_infra.kube import resource
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.runs.run import RunKey, Submission

T = TypeVar("T")

SUBMISSION = Job("default", secrets={"token": SECRET}).submission()
OTHERS = replace(Job("default", secrets={"token": SECRET}, owner=OTHER), content="c2").submission()
KINDS = (resource.CONFIG_MAP, resource.SECRET, resource.JOBSET)


class Dead(BaseException):
    """What a process notices of its own SIGKILL: nothing it sends arrives any more."""


class Process(Relayed):
    """A process whose requests wait for a while, and that is killed at one of them."""

    def __init__(self, client: Memory, fate: "Fate") -> None:
        super().__init__(client)
        self._memory, self._waits, self._left = client, iter(fate.waits), fate.requests

    @override
    async def sent(self, request: Coroutine[Any, Any, T], verb: str) -> T:
        for _ in range(next(self._waits, 0)):
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                request.close()
                raise
        if self._left <= 0:
            request.close()
            raise Dead
        self._left -= 1
        result = await request
        self._memory.collect_garbage()
        if self._left <= 0:
            raise Dead
        return result


@dataclass(frozen=True)
class Fate:
    """What becomes of a process."""

    requests: int = 1000
    """After so many it is killed, the last one done."""
    waits: list[int] = field(default_factory=list)
    """Turns that each request waits."""


FATES = st.builds(Fate, st.integers(0, 12), st.lists(st.integers(0, 6), max_size=12))
LIVING = st.builds(Fate, st.just(1000), st.lists(st.integers(0, 6), max_size=12))


async def submits(memory: Memory, fate: Fate, submission: Submission = SUBMISSION) -> str:
    """The run's uid; empty when it was killed or refused."""
    with suppress(Dead, TrainerInfraError):
        made = await submit.submit_run(Process(memory, fate), RECORDS, submission, within=5)
        return made.record.uid
    return ""


async def deletes(memory: Memory, fate: Fate, uid: str) -> None:
    with suppress(Dead):
        await delete.delete_run(Process(memory, fate), RECORDS, RunKey("default", "tj", uid), 5)


async def left(memory: Memory) -> dict[str, list[str]]:
    """Names by kind."""
    found = {
        each.kind: (await memory.list(ObjectSelection(each, "default"))).items for each in KINDS
    }
    return {
        kind: sorted(str(each["metadata"]["name"]) for each in items)
        for kind, items in found.items()
        if items
    }


WHOLE = {
    "ConfigMap": sorted(
        each["metadata"]["name"] for each in SUBMISSION.objects if each["kind"] == "ConfigMap"
    ),
    "Secret": ["tj-secret"],
    "JobSet": ["tj"],
}


@given(killed=FATES, living=LIVING)
@settings(max_examples=200)
def test_one_submitter_is_killed_while_another_one_works(killed: Fate, living: Fate) -> None:
    async def case() -> None:
        memory = Memory()
        await asyncio.gather(submits(memory, killed), submits(memory, living))
        uid = await submits(memory, Fate())
        assert uid
        assert await left(memory) == WHOLE
        jobset = await memory.get(resource.JOBSET, "tj", "default")
        assert [each["uid"] for each in jobset["metadata"]["ownerReferences"]] == [uid]

    asyncio.run(case())


@given(one=LIVING, other=LIVING)
@settings(max_examples=200)
def test_two_submitters_make_one_run(one: Fate, other: Fate) -> None:
    async def case() -> None:
        memory = Memory()
        uids = await asyncio.gather(submits(memory, one), submits(memory, other))
        assert len(set(uids)) == 1
        assert uids[0]
        assert await left(memory) == WHOLE

    asyncio.run(case())


@given(one=LIVING, other=LIVING)
@settings(max_examples=100)
def test_of_two_stacks_one_is_refused(one: Fate, other: Fate) -> None:
    async def case() -> None:
        memory = Memory()
        uids = await asyncio.gather(submits(memory, one), submits(memory, other, OTHERS))
        assert sorted(map(bool, uids)) == [False, True]
        assert await left(memory) == WHOLE

    asyncio.run(case())


@given(killed=FATES, also_killed=FATES, submitted=FATES)
@settings(max_examples=200)
def test_a_delete_that_is_killed_again_and_again_ends_in_nothing(
    killed: Fate, also_killed: Fate, submitted: Fate
) -> None:
    async def case() -> None:
        memory = Memory()
        await submits(memory, submitted)
        uid = await submits(memory, Fate())
        await asyncio.gather(deletes(memory, killed, uid), deletes(memory, also_killed, uid))
        await deletes(memory, Fate(), uid)
        assert await left(memory) == {}

    asyncio.run(case())


@given(submitter=LIVING, deleter=LIVING, at=st.integers(0, 8))
@settings(max_examples=200)
def test_a_run_that_is_deleted_while_it_is_submitted_is_whole_or_gone(
    submitter: Fate, deleter: Fate, at: int
) -> None:
    async def case() -> None:
        memory = Memory()

        async def deleted() -> None:
            for _ in range(at):
                await asyncio.sleep(0)
            await deletes(memory, deleter, "")

        uid, _ = await asyncio.gather(submits(memory, submitter), deleted())
        memory.collect_garbage()
        there = await left(memory)
        assert there in ({}, WHOLE)
        if there:
            record = await memory.get(resource.CONFIG_MAP, "tj-runtime-snapshot", "default")
            assert record["metadata"]["uid"] == uid

    asyncio.run(case())
