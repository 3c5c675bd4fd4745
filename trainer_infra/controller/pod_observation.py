"""Pods of a TrainJob, read when they say something: while they are not ready, and when it has ended.

The controller does not follow pods, which are by far the most objects of a cluster. A run whose pods are not
ready after a while is looked at, again and again but more and more seldom. One that has ended costs two lists,
of its pods and its Jobs; two more, of events, where a pod is gone that its Job counted and `EarlyEndWatch`
says nothing of.
"""

import time
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import projection
from trainer_infra.controller.early_end_watch import EarlyEndWatch
from trainer_infra.controller.informer import ObjectKey
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Answer
from trainer_infra.kube.resource import EVENT, JOB, POD, Resource
from trainer_infra.lifecycle import conditions, early_end, failure_reason, jobs_status, status
from trainer_infra.render.observed_objects import ObservedObjects

FIRST_LOOK: Final = 10.0
"""Seconds until pods that are not ready are looked at."""
LONGEST: Final = 120.0
"""Seconds, at most, between two looks."""
KEPT: Final = 5
"""Pods of one run that are remembered between two looks."""
WITHIN: Final = 30.0
"""Seconds for one request."""

Objects = tuple[JSONObject, ...]


@dataclass(slots=True)
class _Looks:
    """When the pods of one TrainJob are looked at."""

    due: float
    """Of `time.monotonic`."""
    count: int = 0
    pods: tuple[JSONObject, ...] = ()
    """Those that had a reason to wait at the last look, the first few."""


class PodObservation:
    """Reads the pods of TrainJobs."""

    def __init__(self, client: KubeClient) -> None:
        self.early_ends: Final = EarlyEndWatch(client)
        """Who was told to end while the run goes on."""
        self._client = client
        self._looks: dict[ObjectKey, _Looks] = {}

    async def waiting(self, key: ObjectKey, job: TrainJob, jobset: JSONObject | None) -> Objects:
        """The pods of a run that have a reason to wait; as they were when they were last looked at."""
        if not _is_waiting(job, jobset):
            self._looks.pop(key, None)
            return ()
        now = time.monotonic()
        looks = self._looks.setdefault(key, _Looks(now + FIRST_LOOK))
        if looks.due > now:
            return looks.pods
        looks.count += 1
        looks.due = now + min(LONGEST, FIRST_LOOK * 2.0 ** min(looks.count, 8))
        found = await self._of(POD, key)
        waiting = (each for each in found if failure_reason.waiting_reasons((each,)))
        looks.pods = tuple(islice(waiting, KEPT))
        return looks.pods

    async def ended_early(self, key: ObjectKey, job: TrainJob, noted: Objects) -> Objects:
        """The pods that `early_ends` has of a run that goes on, and that are not noted yet.

        Without those of Jobs that are gone or going, as after a restart.
        """
        known = {each["metadata"]["name"] for each in noted}
        new = [each for each in self.early_ends.pods(key) if each["metadata"]["name"] not in known]
        is_over = conditions.is_finished(status.stored_conditions(job))
        if not new or is_over or job.metadata.deletion_timestamp is not None:
            return ()
        there = {
            each["metadata"]["uid"]
            for each in await self._of(JOB, key)
            if "deletionTimestamp" not in each["metadata"]
        }
        return tuple(
            each for each in new if each["metadata"]["labels"][early_end.JOB_UID_LABEL] in there
        )

    async def at_end(
        self, key: ObjectKey, job: TrainJob, observed: ObservedObjects
    ) -> ObservedObjects:
        """What is there of a run that has just ended, with its pods and Jobs, and how pods ended that are gone."""
        self._looks.pop(key, None)
        noted = early_end.noted_pods(job.metadata.annotations)
        pods = (*await self._of(POD, key), *noted, *self.early_ends.pods(key))
        seen = replace(observed, pods=pods, jobs=await self._of(JOB, key))
        if not early_end.pod_ends(seen).unknown:
            return seen
        found: list[JSONObject] = []
        for fields in early_end.EVENT_FIELDS:
            with suppress(Answer):
                wanted = ObjectSelection(EVENT, key.namespace, fields=fields)
                found.extend((await self._client.within(WITHIN).list(wanted)).items)
        read = replace(seen, pod_events=tuple(found))
        # What the watch did not tell of ended by itself, unless it was late for this one.
        is_sure = self.early_ends.is_whole_since(job.metadata.creation_timestamp)
        return seen if is_sure and not early_end.pod_ends(read).early else read

    def next_look(self, key: ObjectKey) -> float | None:
        """Seconds until the pods are due again; None where none are waited for."""
        looks = self._looks.get(key)
        return None if looks is None else max(0.1, looks.due - time.monotonic())

    def forget(self, key: ObjectKey) -> None:
        """The TrainJob is gone."""
        self._looks.pop(key, None)

    async def _of(self, resource: Resource, key: ObjectKey) -> Objects:
        selection = ObjectSelection(
            resource, key.namespace, f"{names.JOBSET_NAME_LABEL}={key.name}"
        )
        found: list[JSONObject] = []
        async with aclosing(self._client.within(WITHIN).pages(selection)) as pages:
            async for page in pages:
                found.extend(map(projection.of_work, page.items))
        return tuple(found)


def _is_waiting(job: TrainJob, jobset: JSONObject | None) -> bool:
    """Whether pods are there, or due, that are not ready."""
    if jobset is None or job.spec.suspend or (jobset.get("spec") or {}).get("suspend"):
        return False
    if conditions.is_finished(status.stored_conditions(job)):
        return False
    return any(
        each["active"] > each["ready"] + each["succeeded"]
        for each in jobs_status.jobs_status(jobset)
    )
