"""How often pods may report, by a token bucket of each pod and of each TrainJob, and on how many connections.

Mounted by `status_server` between who may report and where reports go. KEP-2779 asks for a limit; the
reference has none.
"""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from aiohttp.web_protocol import RequestHandler
from typing_extensions import override

from trainer_infra.progress.handler import Authenticator, Reporter, ReportRefusal

MOST_BUCKETS: Final = 10_000
"""Buckets of one kind: a full one says nothing, and it is the first to go."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something may happen."""

    per_second: float
    """On average; above zero."""
    burst: int
    """At once, after a pause; at least 1."""


class TokenBuckets:
    """A bucket for each key, made when it is first asked for, full."""

    def __init__(
        self,
        rate: Rate,
        most: int = MOST_BUCKETS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Hashable) -> float:
        """Take one token: 0.0 when there was one, otherwise the seconds until there is.

        Of too many buckets the one goes that was used least recently.
        """
        now = self._clock()
        level, since = self._buckets.get(key, (float(self._rate.burst), now))
        level = min(self._rate.burst, level + max(0.0, now - since) * self._rate.per_second)
        missing = max(0.0, 1.0 - level)
        self._buckets[key] = (level if missing else level - 1.0, now)
        self._buckets.move_to_end(key)
        while len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return missing / self._rate.per_second


class RateLimit(Authenticator):
    """Who may report, and not too often: a pod has a bucket, and all pods of a TrainJob share another."""

    def __init__(
        self, authenticator: Authenticator, pods: TokenBuckets, train_jobs: TokenBuckets
    ) -> None:
        self._authenticator = authenticator
        self._pods = pods
        self._train_jobs = train_jobs

    @override
    async def reporter(self, token: str, namespace: str, name: str) -> Reporter | None:
        """As the authenticator says.

        Raises:
            ReportRefusal: 429, too many reports of the pod or of its TrainJob.
        """
        found = await self._authenticator.reporter(token, namespace, name)
        if found is not None:
            pod, train_job = (namespace, name, found.pod), (namespace, name)
            check_rate(self._pods, pod, "Too many reports of this pod")
            check_rate(self._train_jobs, train_job, "Too many reports of this TrainJob")
        return found


def check_rate(buckets: TokenBuckets, key: Hashable, what: str) -> None:
    """Take a token of a key's bucket; `what` tells the client what there is too much of.

    Raises:
        ReportRefusal: 429, when there is none.
    """
    wait = buckets.take(key)
    if wait > 0.0:
        raise ReportRefusal(429, "TooManyRequests", what, max(1, math.ceil(wait)))


class ReportConnections:
    """Open connections, the one that was used last at the end, and how long one may say nothing.

    Mounted by `status_server` as the factory of its protocol. aiohttp has one limit for the first request
    of a connection and for a pause between requests; the reference has two. Neither has a limit of their
    number, so that one pod could fill the manager's memory: here the connection goes that was used least
    recently, and its client connects again.
    """

    def __init__(self, make: Callable[[], RequestHandler], silence: float, most: int) -> None:
        """`silence` is the seconds until a connection's first request has a head, its handshake included."""
        self._make = make
        self._silence = silence
        self._most = most
        self._open: OrderedDict[RequestHandler, None] = OrderedDict()
        self._silent: set[RequestHandler] = set()

    def __call__(self) -> RequestHandler:
        """The protocol of a new connection."""
        connection = self._make()
        self._open[connection] = None
        self._silent.add(connection)
        asyncio.get_running_loop().call_later(self._silence, self._end_if_silent, connection)
        if len(self._open) > self._most:
            self._make_room()
        return connection

    def speaks(self, connection: RequestHandler) -> None:
        """It has sent the head of a request."""
        self._silent.discard(connection)
        if connection in self._open:
            self._open.move_to_end(connection)

    def _end_if_silent(self, connection: RequestHandler) -> None:
        if connection in self._silent:
            self._silent.discard(connection)
            self._end(connection)
        elif connection.transport is None:
            self._open.pop(connection, None)  # it was lost: most last for one request

    def _make_room(self) -> None:
        """Forget connections that are lost; where that is not enough, end one."""
        for each in [each for each in self._open if not self._is_alive(each)]:
            del self._open[each]
        for each in self._open:
            if len(self._open) > self._most and each.transport is not None:
                self._end(each)
                break

    def _is_alive(self, connection: RequestHandler) -> bool:
        """Whether it is connected, or its handshake, which has a limit of its own, goes on."""
        return connection.transport is not None or connection in self._silent

    def _end(self, connection: RequestHandler) -> None:
        """End it, unless it is lost already, or still in its handshake."""
        if connection.transport is not None:
            self._open.pop(connection, None)
            connection.force_close()
