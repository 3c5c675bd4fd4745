"""The finalizer that Kubeflow Trainer before 2.3 puts on runtimes is taken off, so they can be deleted.

The manager runs it while it leads. Nothing else is ever written to a runtime. Rule: reference
behaviour 4.1.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.controller.informer import ObjectCache, ObjectKey
from trainer_infra.controller.leader_election import LeaderClient
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Conflict, NotFound

PAUSE: Final = 5.0
"""Seconds before another try where the API server says no."""
WITHIN: Final = 30.0
"""Seconds for one request."""

_log: Final = logging.getLogger(__name__)


class RuntimeFinalizers:
    """Runtimes that have it, in the order in which they were seen; belongs to one event loop."""

    def __init__(self, leader: LeaderClient, caches: Mapping[str, ObjectCache]) -> None:
        self._leader = leader
        self._caches = caches
        self._due: asyncio.Queue[tuple[str, ObjectKey]] = asyncio.Queue()

    def changed(self, kind: str, key: ObjectKey) -> None:
        """A runtime is new, another or gone."""
        if self._change(kind, key) is not None:
            self._due.put_nowait((kind, key))

    async def run(self) -> None:
        """Take it off until this is cancelled."""
        while True:
            kind, key = await self._due.get()
            change = self._change(kind, key)
            if change is None:
                continue
            try:
                client = self._leader.within(WITHIN)
                stored = await client.merge(change, manager=names.TRAINER_MANAGER)
                self._caches[kind].put(stored)
            except (Conflict, NotFound):
                continue  # the informer brings the version that is there now
            except (TrainerInfraError, TimeoutError) as error:
                _log.warning("a finalizer of %s %s stays for now: %s", kind, key.name, error)
                self._due.put_nowait((kind, key))
                await asyncio.sleep(PAUSE)

    def _change(self, kind: str, key: ObjectKey) -> JSONObject | None:
        """What takes it off the version that is known; None where there is nothing to do."""
        value = self._caches[kind].get(key)
        finalizers = [] if value is None else value["metadata"].get("finalizers") or []
        if value is None or names.RESOURCE_IN_USE not in finalizers:
            return None
        kept = [each for each in finalizers if each != names.RESOURCE_IN_USE]
        told = ("name", "namespace", "resourceVersion")
        metadata = {field: value["metadata"][field] for field in told if field in value["metadata"]}
        head = {"apiVersion": value["apiVersion"], "kind": value["kind"]}
        return {**head, "metadata": {**metadata, "finalizers": kept or None}}
