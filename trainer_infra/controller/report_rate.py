"""How often pods may report: token buckets, one for each pod and one for each TrainJob.

Mounted by `status_server` between who may report and where reports go. KEP-2779 asks for a limit; the
reference has none.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

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
    """Who may report, and not too often."""

    def __init__(
        self, authenticator: Authenticator, pods: TokenBuckets, train_jobs: TokenBuckets
    ) -> None:
        """Limits of all that the authenticator lets in.

        Args:
            authenticator: knows who reports.
            pods: the buckets of pods.
            train_jobs: those of TrainJobs, which all pods of one share.
        """
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
    """Take a token.

    Args:
        buckets: of this kind.
        key: the one that is taken from.
        what: what there is too much of, for the client.

    Raises:
        ReportRefusal: 429, when there is none.
    """
    wait = buckets.take(key)
    if wait > 0.0:
        raise ReportRefusal(429, "TooManyRequests", what, max(1, math.ceil(wait)))
