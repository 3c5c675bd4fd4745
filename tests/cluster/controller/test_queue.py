"""A TrainJob in a queue of Kueue's: the label is on it, and Kueue alone suspends and resumes it."""

import asyncio
from typing import Any

import pytest

from tests.cluster.submissions import Job
from tests.fake_api_server.memory import Memory
from tests.fake_api_server.served_kinds import KINDS
from trainer_infra import catalog, names
from trainer_infra.cluster import run_lookup, submit, suspend
from trainer_infra.cluster.controller.job_store import JOBS
from trainer_infra.cluster.rights import WORKLOAD
from trainer_infra.cluster.session import Session
from trainer_infra.errors import Refused
from trainer_infra.kube.resource import TRAIN_JOB
from trainer_infra.runs.run import Run, RunKey

QUEUED = {"labels": {names.KUEUE_QUEUE_LABEL: "research"}}
HELD = "couldn't assign flavors to pod set node: insufficient unused quota for cpu in flavor f, 1 more needed"


class Queue:
    """A cluster in memory with Kueue, that holds the run `tj`."""

    def __init__(self, **spec: Any) -> None:
        self.client = Memory((*KINDS, WORKLOAD))
        self.session = Session(self.client, "memory", JOBS)
        self.job = Job("default", engine="controller", metadata=QUEUED, spec=spec)

    async def submit(self) -> str:
        """Submit the run, as Kueue and the controller have it then; its UID."""
        runtime = catalog.get("torch-distributed").to_wire()
        await self.client.create(runtime, manager="platform")
        submission = self.job.submission()
        made = await submit.submit_run(self.client, JOBS, submission)
        await self.change(suspend=True)
        uid = made.record.uid
        jobset = submission.objects[-1]
        owner = {"apiVersion": names.API_VERSION, "kind": "TrainJob", "name": "tj", "uid": uid}
        metadata = {**jobset["metadata"], "namespace": "default", "ownerReferences": [owner]}
        held = {**jobset, "metadata": metadata, "spec": {**jobset["spec"], "suspend": True}}
        await self.client.create(held, manager="trainer")
        condition = {"type": "Suspended", "status": "True", "reason": "Suspended"}
        condition |= {
            "message": "TrainJob is suspended",
            "lastTransitionTime": "2026-11-21T12:00:00Z",
        }
        await self.client.patch_status(
            {**self.head, "status": {"conditions": [condition]}}, manager="trainer"
        )
        workload = {
            "apiVersion": WORKLOAD.api_version,
            "kind": WORKLOAD.kind,
            "metadata": {
                "name": "trainjob-tj-1a2b3",
                "namespace": "default",
                "labels": {"kueue.x-k8s.io/job-uid": uid},
            },
            "spec": {"queueName": "research", "active": True},
        }
        stored = await self.client.create(workload, manager="kueue")
        reserved = {
            "type": "QuotaReserved",
            "status": "False",
            "reason": "Pending",
            "message": HELD,
        }
        status = {"status": {"conditions": [reserved]}}
        kept = {key: stored[key] for key in ("apiVersion", "kind")}
        place = {"name": stored["metadata"]["name"], "namespace": "default"}
        await self.client.patch_status({**kept, "metadata": place, **status}, manager="kueue")
        return uid

    @property
    def head(self) -> dict[str, Any]:
        metadata = {"name": "tj", "namespace": "default"}
        return {"apiVersion": names.API_VERSION, "kind": "TrainJob", "metadata": metadata}

    async def change(self, **spec: Any) -> None:
        await self.client.apply({**self.head, "spec": spec}, manager="kueue", force=True)

    async def now(self) -> Run:
        found = await run_lookup.at_one(self.session, RunKey("default", "tj"))
        assert found is not None
        return found


def test_a_run_that_kueue_holds_waits_in_kueues_own_words_and_is_not_suspended() -> None:
    async def asked() -> None:
        queue = Queue()
        await queue.submit()
        run = await queue.now()
        assert (run.phase, run.cause, run.drift) == ("Created", "queue", {})
        assert run.waiting_for == f"admission by Kueue to queue research: {HELD}"
        await queue.session.close()

    asyncio.run(asked())


def test_the_label_is_on_the_trainjob_and_on_no_jobset() -> None:
    objects = Queue().job.submission().objects
    labels = {each["kind"]: each["metadata"].get("labels") or {} for each in objects}
    assert labels["TrainJob"][names.KUEUE_QUEUE_LABEL] == "research"
    assert names.KUEUE_QUEUE_LABEL not in labels["JobSet"]


@pytest.mark.parametrize("value", [True, False])
def test_kueue_alone_suspends_and_resumes_it(*, value: bool) -> None:
    async def asked() -> None:
        queue = Queue()
        uid = await queue.submit()
        with pytest.raises(Refused, match=r"spec\.active of Workload trainjob-tj-1a2b3"):
            await suspend.suspend_run(queue.client, JOBS, RunKey("default", "tj", uid), value=value)
        stored = await queue.client.get(TRAIN_JOB, "tj", "default")
        assert stored["spec"]["suspend"] is True

    asyncio.run(asked())


def test_a_run_that_its_user_suspended_is_shown_as_suspended() -> None:
    async def asked() -> None:
        queue = Queue(suspend=True)
        await queue.submit()
        assert (await queue.now()).phase == "Suspended"
        await queue.session.close()

    asyncio.run(asked())
