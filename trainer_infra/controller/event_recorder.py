"""Events of TrainJobs, written beside the work and never in its way.

Events go out one by one, and more slowly while TrainJobs wait for a worker. They are core/v1 Events with
the fields of events.k8s.io, so both APIs show them: the published SDK keeps only those with a
`firstTimestamp` (SDK 0.5), which events.k8s.io refuses.
"""

import asyncio
import hashlib
import logging
import socket
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller.leader_election import LeaderClient
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Exists
from trainer_infra.lifecycle import conditions, events
from trainer_infra.lifecycle.events import Event

COMPONENT: Final = "trainer-trainjob-controller"
"""The reference's name for who writes events (reference behaviour 4.6)."""
ACTION: Final = "Reconciling"
MOST: Final = 5_000
"""Events that wait; the oldest of more are dropped."""
PAUSE: Final = 0.05
"""Seconds between two events while there is other work."""
WITHIN: Final = 20.0
"""Seconds for one request."""

_log: Final = logging.getLogger(__name__)


class EventRecorder:
    """Writes the events of one process."""

    def __init__(self, leader: LeaderClient, is_busy: Callable[[], bool]) -> None:
        self._leader = leader
        self._is_busy = is_busy
        self._waiting: deque[JSONObject] = deque(maxlen=MOST)
        self._awake = asyncio.Event()

    def record(self, job: TrainJob, event: Event, now: datetime) -> None:
        """An event of a TrainJob is to be written."""
        self._waiting.append(event_object(job, event, now))
        self._awake.set()

    async def run(self) -> None:
        """Write what is recorded until this is cancelled."""
        while True:
            self._awake.clear()
            while self._waiting:
                if self._is_busy():
                    await asyncio.sleep(PAUSE)
                await self._write(self._waiting.popleft())
            await self._awake.wait()

    async def flush(self) -> None:
        """Write what waits, at the end."""
        while self._waiting:
            await self._write(self._waiting.popleft())

    async def _write(self, value: JSONObject) -> None:
        try:
            await self._leader.within(WITHIN).create(value, manager=names.TRAINER_MANAGER)
        except Exists:
            return
        except (TrainerInfraError, TimeoutError) as error:
            about = value["involvedObject"]
            _log.warning(
                "the event %s of TrainJob %s/%s was not written: %s",
                value["reason"],
                about["namespace"],
                about["name"],
                error,
            )


def event_object(job: TrainJob, event: Event, now: datetime) -> JSONObject:
    """The Event as it is stored.

    One about what lasts has a name that is the same whenever it is written, so that a new process does
    not repeat it.
    """
    metadata = job.metadata
    namespace = names.namespace_of(metadata.namespace)
    parts = [metadata.uid or "", event.type, event.reason, event.message]
    if not events.is_lasting(event):
        parts.append(now.isoformat())
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    time = conditions.timestamp(now)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata.name}.{digest}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "name": metadata.name,
            "namespace": namespace,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "action": ACTION,
        "count": 1,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "eventTime": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingComponent": COMPONENT,
        "reportingInstance": socket.gethostname()[:128] or COMPONENT,
        "source": {"component": COMPONENT},
    }
