"""Which of several replicas works: the holder of a Lease of coordination.k8s.io.

The rule is that of Kubernetes' own controllers. A replica takes a Lease that no other one has renewed
for the lease's duration, measured by its own clock from when it saw the last change, so that clocks of
different machines may differ; it renews its own, and stops working when it could not for the renewal
deadline. Every write names the version that was read: of two that try, the API server lets one. No request
of the work outlives `seconds_left`, for a process that is stopped and goes on cannot know that by itself.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Conflict, Exists, NotFound
from trainer_infra.kube.resource import Resource

LEASE: Final = Resource("coordination.k8s.io/v1", "Lease", "leases")
_JITTER: Final = 0.2
"""Part of the retry period by which tries differ."""
_log: Final = logging.getLogger(__name__)
_random: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The Lease, and how it is kept. Times are in seconds (reference behaviour 8.3)."""

    name: str
    namespace: str
    identity: str
    """Who this replica is; no two are alike."""
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class LeaderElection:
    """Takes part in one election."""

    def __init__(self, client: KubeClient, terms: LeaseTerms) -> None:
        self._client = client
        self._terms = terms
        self._seen: tuple[Any, ...] = ()
        self._seen_at = 0.0
        self._renewed_at = 0.0

    async def acquire(self) -> None:
        """Return once this replica is the leader."""
        while not await self._try():
            await self._pause()
        _log.info("%s leads", self._terms.identity)

    @property
    def seconds_left(self) -> float:
        """How long it may still write without renewing; negative where it may not.

        A process that stood still learns so from its own clock, before it can ask who leads.
        """
        return self._renewed_at + self._terms.renew_deadline - time.monotonic()

    async def keep(self) -> None:
        """Renew until that fails for the renewal deadline; then return: it leads no more."""
        while self.seconds_left > 0.0:
            await self._pause()
            if not await self._try() and self._holder not in {"", self._terms.identity}:
                break
        _log.error("%s leads no more: it could not renew the Lease", self._terms.identity)

    async def release(self) -> None:
        """Let another replica lead at once."""
        try:
            lease = await self._client.get(LEASE, self._terms.name, self._terms.namespace)
            if lease["spec"].get("holderIdentity") == self._terms.identity:
                spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
                await self._write(lease, spec)
        except (TrainerInfraError, TimeoutError) as error:
            _log.warning("the Lease was not given back: %s", error)

    @property
    def _holder(self) -> str:
        return str(self._seen[0]) if self._seen else ""

    async def _pause(self) -> None:
        period = self._terms.retry_period
        await asyncio.sleep(period * _random.uniform(1.0, 1.0 + _JITTER))

    async def _try(self) -> bool:
        """Take or renew the Lease; whether this replica has it now."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._terms.renew_deadline):
                held = await self._taken()
        except (Conflict, Exists):
            held = False
        except (TrainerInfraError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            _log.warning("the Lease cannot be read or renewed: %s", why)
            held = False
        if held:
            # From before the write: another replica may count from then on.
            self._renewed_at = began
        return held

    async def _taken(self) -> bool:
        client = self._client.within(self._terms.renew_deadline)
        try:
            lease = await client.get(LEASE, self._terms.name, self._terms.namespace)
        except NotFound:
            await client.create(self._lease({}, self._spec({})), manager=names.TRAINER_MANAGER)
            self._see(self._spec({}))
            return True
        spec = lease.get("spec") or {}
        self._see(spec)
        if spec.get("holderIdentity") not in {None, "", self._terms.identity}:
            lasts = float(spec.get("leaseDurationSeconds") or self._terms.duration)
            if time.monotonic() - self._seen_at < lasts:
                return False
        await self._write(lease, self._spec(spec))
        return True

    def _see(self, spec: JSONObject) -> None:
        """Note when the Lease changed, by this machine's clock."""
        seen = tuple(spec.get(key) for key in ("holderIdentity", "renewTime", "acquireTime"))
        if seen != self._seen:
            self._seen, self._seen_at = seen, time.monotonic()

    async def _write(self, lease: JSONObject, spec: JSONObject) -> None:
        version = lease["metadata"]["resourceVersion"]
        client = self._client.within(self._terms.renew_deadline)
        changed = self._lease({"resourceVersion": version}, spec)
        await client.apply(changed, manager=names.TRAINER_MANAGER, force=True)
        self._see(spec)

    def _spec(self, before: JSONObject) -> dict[str, Any]:
        """The Lease as this replica's."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        same = before.get("holderIdentity") == self._terms.identity
        changes = int(before.get("leaseTransitions") or 0) + (0 if same else 1)
        return {
            "holderIdentity": self._terms.identity,
            "leaseDurationSeconds": max(1, int(self._terms.duration)),
            "acquireTime": before.get("acquireTime", now) if same else now,
            "renewTime": now,
            "leaseTransitions": changes if before else 0,
        }

    def _lease(self, metadata: JSONObject, spec: JSONObject) -> JSONObject:
        place = {"name": self._terms.name, "namespace": self._terms.namespace}
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {**place, **metadata},
            "spec": spec,
        }


class LeaderClient:
    """A client whose requests end with the Lease, for what only the replica that leads may do.

    The reconciler, the recorder of events and the finalizers of runtimes write with it.
    """

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        """For what every replica may do, reads above all."""
        self.seconds_left: Callable[[], float] = lambda: math.inf
        """How long it may write; replaced where replicas elect a leader."""

    def within(self, seconds: float) -> KubeClient:
        """The client for one request, which takes no longer than this many seconds.

        Raises:
            NotAvailable: Another replica may lead.
        """
        left = self.seconds_left()
        if left <= 0.0:
            raise NotAvailable("another replica may lead now: nothing more is written")
        return self.client.within(min(seconds, left))
