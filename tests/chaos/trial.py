"""One trial: TrainJobs are posted while something goes wrong, and at the end every one must be right."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from from_source.cluster import live
from tests.chaos import etcd_history
from tests.chaos.etcd_history import Change, EtcdHistory, Track
from tests.chaos.train_jobs import Posted
from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.request_retry import Patience
from trainer_infra.kube.resource import JOBSET, NAMESPACE, TRAIN_JOB

CLIENTS = 8
"""That post TrainJobs at a time."""
USER = "chaos-user"
LONGEST = 1200.0
"""Seconds until all must be right; a busy machine is not a failure."""
PAUSE = 1.0
"""Seconds between two looks at all TrainJobs."""
COUNTS = ("ready", "succeeded", "failed", "active", "suspended")


@dataclass
class Trial:
    """The TrainJobs of one namespace, and what etcd saw of them."""

    namespace: str
    client: KubeClient
    """Of a user, past every proxy."""
    history: EtcdHistory
    posted: list[Posted] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    """TrainJobs that were posted and deleted; each has had one JobSet."""
    broken: list[str] = field(default_factory=list)
    """TrainJobs that went on after their end."""
    _ended: dict[str, str] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    async def post(self, jobs: Iterable[Posted]) -> None:
        """Create TrainJobs, some at a time."""
        waiting = iter(jobs)

        async def worker() -> None:
            for each in waiting:
                await self.client.create(each.value(self.namespace), manager=USER)
                self.posted.append(each)

        await asyncio.gather(*(worker() for _ in range(CLIENTS)))

    async def resume(self) -> None:
        """Let those that are held go on, once their status says that they are held."""
        held = [each for each in self.posted if each.kind.is_resumed]

        async def are_held() -> bool:
            jobs = await self.train_jobs()
            return all(is_true(jobs[each.name], names.SUSPENDED) for each in held)

        await until(are_held)
        for each in held:
            value = each.value(self.namespace)
            spec = {**value["spec"], "suspend": False}
            await self.client.apply({**value, "spec": spec}, manager=USER, force=True)

    async def settled(self) -> None:
        """Return when every TrainJob and JobSet is as it must be.

        Raises:
            AssertionError: They are not, in time; says what is wrong.
        """
        wrong: list[str] = []

        async def are_right() -> bool:
            wrong[:] = await self._problems()
            return not wrong

        try:
            await until(are_right)
        except TimeoutError:
            raise AssertionError(f"{len(wrong)} are wrong: {wrong[:10]}") from None

    async def run(self, jobs: Iterable[Posted]) -> float:
        """Post, resume and wait; TrainJobs in a second."""
        jobs = list(jobs)
        began = time.monotonic()
        await self.post(jobs)
        await self.resume()
        await self.settled()
        return round(len(jobs) / (time.monotonic() - began), 2)

    async def check_history(self) -> None:
        """Nothing was made twice, changed that must not, or went on after its end."""
        await self._is_seen_to_the_end()
        jobs = await self.train_jobs()
        of = {
            kind: self.history.of(kind, self.namespace)
            for kind in (etcd_history.JOB_SETS, etcd_history.CONFIG_MAPS, etcd_history.SECRETS)
        }
        wrong = list(self.broken)
        for each in self.posted:
            uid = jobs[each.name]["metadata"]["uid"]
            job_set = of[etcd_history.JOB_SETS].get(each.name, Track())
            made = len(job_set.creations)
            if made == 0 and each.kind.deletes_its_job_set:
                continue  # The deadline passed before a controller looked, on a busy machine.
            if (made, len(job_set.uids)) != (1, 1):
                wrong.append(f"{each.name} has had {made} JobSets")
            if job_set.controllers != {uid}:
                wrong.append(f"{each.name}'s JobSet is controlled by {job_set.controllers}")
            snapshot = f"{each.name}{names.SNAPSHOT_SUFFIX}"
            wrong += _written_once(snapshot, of[etcd_history.CONFIG_MAPS])
            if each.kind.name == "mpi":
                secret = f"{each.name}{names.SSH_AUTH_SUFFIX}"
                wrong += _written_once(secret, of[etcd_history.SECRETS])
        expected = {each.name for each in self.posted} | self.deleted | {SENTINEL}
        wrong += [
            f"{each} has had no JobSet, or two"
            for each in self.deleted
            if len(of[etcd_history.JOB_SETS][each].creations) != 1
        ]
        wrong += [
            f"no TrainJob is named {each}" for each in of[etcd_history.JOB_SETS].keys() - expected
        ]
        assert not wrong, wrong[:20]

    async def train_jobs(self) -> dict[str, JSONObject]:
        """All TrainJobs, by name."""
        found = await self.client.list(ObjectSelection(TRAIN_JOB, self.namespace))
        return {each["metadata"]["name"]: each for each in found.items}

    def hear(self, change: Change) -> None:
        """Note whether a TrainJob that has ended stays as it ended."""
        if (change.kind, change.namespace) != (etcd_history.TRAIN_JOBS, self.namespace):
            return
        ends = [] if change.value is None else sorted(_ends(change.value))
        before = self._ended.get(change.name)
        if before is not None and change.value is not None and ends != [before]:
            self.broken.append(f"{change.name} was {before} and is {ends}")
        if ends:
            self._ended[change.name] = ends[0]

    async def _problems(self) -> list[str]:
        jobs = await self.train_jobs()
        found = await self.client.list(ObjectSelection(JOBSET, self.namespace))
        job_sets = {each["metadata"]["name"]: each for each in found.items}
        return [
            problem
            for each in self.posted
            for problem in problems_of(each, jobs.get(each.name, {}), job_sets.get(each.name))
        ]

    async def _is_seen_to_the_end(self) -> None:
        """Return when etcd's history has what is made now in each kind, so all before it too."""
        head = {"metadata": {"name": SENTINEL, "namespace": self.namespace}}
        managed = {"runtimeRef": {"name": "none"}, "managedBy": "kueue.x-k8s.io/multikueue"}
        made: dict[str, JSONObject] = {
            etcd_history.JOB_SETS: {
                "apiVersion": names.JOBSET_API_VERSION,
                "kind": names.JOBSET,
                "spec": {"suspend": True, "replicatedJobs": []},
            },
            etcd_history.TRAIN_JOBS: {
                "apiVersion": names.API_VERSION,
                "kind": names.TRAIN_JOB,
                "spec": managed,
            },
            etcd_history.CONFIG_MAPS: {"apiVersion": "v1", "kind": "ConfigMap"},
            etcd_history.SECRETS: {"apiVersion": "v1", "kind": "Secret"},
        }
        for kind, value in made.items():
            await self.client.create({**value, **head}, manager=USER)
            key = (kind, self.namespace, SENTINEL)

            async def is_seen(key: tuple[str, str, str] = key) -> bool:
                return key in self.history.tracks

            await until(is_seen)


SENTINEL = "sentinel"
"""Name of what is made last."""


def problems_of(posted: Posted, job: JSONObject, job_set: JSONObject | None) -> Iterator[str]:
    """What is not as it must be at the end."""
    kind, status = posted.kind, job.get("status") or {}
    conditions = [
        (each["type"], each["status"], each["reason"]) for each in status.get("conditions") or ()
    ]
    if conditions != [(kind.condition, "True", kind.reason)]:
        yield f"{posted.name} has the conditions {conditions}"
    if names.WAITING in (job.get("metadata") or {}).get("annotations", {}):
        yield f"{posted.name} says why it waits: {job['metadata']['annotations'][names.WAITING]}"
    if (job_set is None) != kind.deletes_its_job_set:
        yield f"{posted.name} has {'no' if job_set is None else 'a'} JobSet"
    if job_set is not None and not kind.deletes_its_job_set:
        of_job_set = (job_set.get("status") or {}).get("replicatedJobsStatus")
        if _counts(status.get("jobsStatus")) != _counts(of_job_set):
            yield f"{posted.name} counts {status.get('jobsStatus')}, its JobSet {of_job_set}"


def is_true(job: JSONObject, kind: str) -> bool:
    """Whether a TrainJob has a condition."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == (kind, "True") for each in conditions)


async def until(happened: Callable[[], Awaitable[bool]], seconds: float = LONGEST) -> None:
    """Return when it has happened.

    Raises:
        TimeoutError: It has not, in time.
    """
    async with asyncio.timeout(seconds):
        while True:
            with suppress(NotFound, KeyError):
                if await happened():
                    return
            await asyncio.sleep(PAUSE)


@asynccontextmanager
async def trial(kubeconfig: Path, namespace: str) -> AsyncIterator[Trial]:
    """A trial in a namespace of its own; it is over when nothing is left to be checked."""
    client = await http.connect_client(str(kubeconfig), patience=Patience(give_up_after=300.0))
    value = {"apiVersion": "v1", "kind": NAMESPACE.kind, "metadata": {"name": namespace}}
    await client.create(value, manager=USER)
    try:
        async with etcd_history.followed(live.folder() / "etcd.sock:0") as history:
            made = Trial(namespace, client, history)
            history.heard.append(made.hear)
            yield made
            await made.check_history()
    finally:
        await client.close()


def _ends(job: JSONObject) -> set[str]:
    conditions = (job.get("status") or {}).get("conditions") or ()
    ends = (names.COMPLETE, names.FAILED)
    return {
        each["type"] for each in conditions if each["type"] in ends and each["status"] == "True"
    }


def _counts(jobs: Any) -> list[tuple[Any, ...]]:
    return sorted((each["name"], *(each.get(key, 0) for key in COUNTS)) for each in jobs or ())


def _written_once(name: str, tracks: dict[str, Track]) -> list[str]:
    track = tracks.get(name, Track())
    if (len(track.creations), track.version) == (1, 1):
        return []
    return [f"{name} was made {len(track.creations)} times and written {track.version} times"]
