"""Which pods were told to end and ended with 0, seen when it happens: a second later the pod may be gone.

One watch of the pods of JobSets that have succeeded, in every replica of the controller, also while it does not
lead. A pod comes into it when it has succeeded, with a `deletionTimestamp` where it was told to before: that
costs two or three changes of each training pod, at its end, and no request. What is kept are the first few such
pods of a run, until the TrainJob says so itself.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from typing import Final

from trainer_infra import names
from trainer_infra.controller.informer import ObjectKey
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Expired
from trainer_infra.kube.resource import POD
from trainer_infra.lifecycle import conditions, early_end

PAUSE: Final = 30.0
"""Seconds before another try where the API server says no."""
RUNS: Final = 1_000
"""Runs of which pods are kept; those that were told of first go."""
PODS: Final = 8
"""Pods that are kept of a run, here and in its annotation; one is enough for the verdict."""
SUCCEEDED: Final = ObjectSelection(
    POD, labels=names.JOBSET_NAME_LABEL, fields="status.phase=Succeeded"
)

_log: Final = logging.getLogger(__name__)


class EarlyEndWatch:
    """Pods that ended early and that no TrainJob says yet."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._since: datetime | None = None
        self._pods: dict[ObjectKey, tuple[JSONObject, ...]] = {}

    def is_whole_since(self, time: str | None) -> bool:
        """Whether it has seen every pod that has succeeded since then."""
        if self._since is None or time is None:
            return False
        return self._since <= conditions.parse_timestamp(time)

    def pods(self, key: ObjectKey) -> tuple[JSONObject, ...]:
        """The pods of a run that ended early, as `early_end.as_noted` has them."""
        return self._pods.get(key, ())

    def forget(self, key: ObjectKey) -> None:
        """The TrainJob says it itself, or is gone."""
        self._pods.pop(key, None)

    async def run(self, changed: Callable[[ObjectKey], None]) -> None:
        """Watch until this is cancelled; `changed` is called with the place of a run of which a pod ended early."""
        while True:
            try:
                await self._watch(changed)
            except Expired:
                _log.info("the watch of pods is too old, and begins anew")
            except TrainerInfraError as error:
                _log.error("cannot follow pods that have succeeded: %s", error)
                await asyncio.sleep(PAUSE)
            finally:
                self._since = None

    async def _watch(self, changed: Callable[[ObjectKey], None]) -> None:
        # What is there already is looked at when its run ends; of this list only the version counts.
        async with aclosing(self._client.pages(SUCCEEDED)) as pages:
            first = await anext(pages)
        self._since = self._client.now()
        async with aclosing(self._client.watch(SUCCEEDED, first.resource_version)) as changes:
            async for change in changes:
                if change.type == "ADDED":
                    self._note(change.value, changed)

    def _note(self, pod: JSONObject, changed: Callable[[ObjectKey], None]) -> None:
        noted, metadata = early_end.as_noted(pod), pod["metadata"]
        is_counted = early_end.UNCOUNTED in (metadata.get("finalizers") or ())
        if "deletionTimestamp" not in metadata or not is_counted:
            return
        key = ObjectKey(metadata["namespace"], metadata["labels"][names.JOBSET_NAME_LABEL])
        self._pods[key] = (*self.pods(key), noted)[:PODS]
        while len(self._pods) > RUNS:
            del self._pods[next(iter(self._pods))]
        changed(key)
