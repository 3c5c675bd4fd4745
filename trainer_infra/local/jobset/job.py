"""One Job as it stands: what its tries amount to since the JobSet was last restarted.

Made by decide.py from every try it is shown. A restart of the JobSet makes new Jobs, which know
nothing of the tries before it. A resume keeps the Job: indexes that have succeeded stay so, and
failures stay counted; only what ran when it was suspended runs anew.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from trainer_infra.lifecycle import early_end
from trainer_infra.local.jobset import replicated_job
from trainer_infra.local.jobset.pods import ObservedPod, PodPhase
from trainer_infra.local.jobset.replicated_job import ReplicatedJob

STOPPED = "Stopped"
"""The reason of a try that was ended because we asked: neither a failure nor a success."""


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Why a Job failed."""

    reason: str
    """As the Job's condition has it, for example `BackoffLimitExceeded`."""
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ObservedJob:
    """One Job of a replicated job."""

    name: str
    """`<jobset>-<job>-<replica>`."""
    replicated: ReplicatedJob
    replica: int
    attempt: int
    """The JobSet's attempt: what runs in an earlier one is on its way out."""
    tries: tuple[ObservedPod, ...]
    """Its tries since the JobSet was last restarted, in start order."""
    leftover: bool
    """A pod of an earlier attempt still runs."""
    failure: JobFailure | None = None
    """None while it has not failed."""

    @property
    def current(self) -> tuple[ObservedPod, ...]:
        """Its tries in this attempt, in start order."""
        return tuple(pod for pod in self.tries if pod.attempt == self.attempt)

    @property
    def running(self) -> tuple[ObservedPod, ...]:
        """Its tries that run and are to go on."""
        return tuple(pod for pod in self.current if pod.phase is PodPhase.RUNNING)

    @property
    def failed(self) -> tuple[ObservedPod, ...]:
        """Its failed tries, in the order in which they ended."""
        failed = (
            pod for pod in self.tries if pod.phase is PodPhase.FAILED and pod.reason != STOPPED
        )
        return tuple(sorted(failed, key=ended_at))

    @property
    def succeeded(self) -> frozenset[int]:
        """The completion indexes that have succeeded."""
        return frozenset(pod.id.index for pod in self.tries if pod.phase is PodPhase.SUCCEEDED)

    @property
    def complete(self) -> bool:
        """Every completion index has succeeded, or what a rule of its success policy (KEP-3998) asks for."""
        rules = (self.replicated.spec.get("successPolicy") or {}).get("rules") or ()
        succeeded, all_indexes = self.succeeded, range(self.replicated.completions)
        for rule in ({}, *rules):
            listed = rule.get("succeededIndexes")
            wanted = {*all_indexes} if listed is None else {*early_end.indexes_in(listed)}
            count = rule.get("succeededCount")
            if len(wanted & succeeded) >= (len(wanted) if count is None else count):
                return True
        return False

    @property
    def finished(self) -> bool:
        """It has succeeded or failed."""
        return self.complete or self.failure is not None


def ended_at(pod: ObservedPod) -> datetime:
    """When a try ended; when it started, for one that could not be started."""
    return pod.finished or pod.started


def observe_job(
    name: str, jobs: Iterable[ReplicatedJob], pods: Iterable[ObservedPod], *, run: int, attempt: int
) -> tuple[ObservedJob, ...]:
    """Every Job of the JobSet `name`, in template order, without its failure.

    `run` is the attempt in which the JobSet was last restarted.
    """
    tries: dict[tuple[str, int], list[ObservedPod]] = defaultdict(list)
    for pod in pods:
        tries[pod.id.job, pod.id.replica].append(pod)
    return tuple(
        ObservedJob(
            name=replicated_job.job_name(name, replicated.name, replica),
            replicated=replicated,
            replica=replica,
            attempt=attempt,
            tries=tuple(pod for pod in tries[replicated.name, replica] if pod.attempt >= run),
            leftover=any(
                pod.phase is PodPhase.RUNNING and pod.attempt < attempt
                for pod in tries[replicated.name, replica]
            ),
        )
        for replicated in jobs
        for replica in range(replicated.replicas)
    )
