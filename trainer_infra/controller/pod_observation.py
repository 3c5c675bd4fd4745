"""Pods of a TrainJob, read when they say something: while they are not ready, and when it has failed.

The controller watches no pods, which are by far the most objects of a cluster. A run whose pods are not
ready after a while is looked at, again and again but more and more seldom.
"""

import time
from dataclasses import dataclass
from itertools import islice
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import projection
from trainer_infra.controller.informer import ObjectKey
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import JOB, POD, Resource
from trainer_infra.lifecycle import conditions, failure_reason, jobs_status, status

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
        looks.pods = tuple(map(projection.of_pod, islice(waiting, KEPT)))
        return looks.pods

    async def of_failure(self, key: ObjectKey) -> tuple[Objects, Objects]:
        """Pods and Jobs of a run that has failed."""
        self._looks.pop(key, None)
        return await self._of(POD, key), await self._of(JOB, key)

    def next_look(self, key: ObjectKey) -> float | None:
        """Seconds until the pods are due again; None where none are waited for."""
        looks = self._looks.get(key)
        return None if looks is None else max(0.1, looks.due - time.monotonic())

    def forget(self, key: ObjectKey) -> None:
        """The TrainJob is gone."""
        self._looks.pop(key, None)

    async def _of(self, resource: Resource, key: ObjectKey) -> Objects:
        labels = f"{names.JOBSET_NAME_LABEL}={key.name}"
        selection = ObjectSelection(resource, key.namespace, labels)
        return tuple((await self._client.within(WITHIN).list(selection)).items)


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
