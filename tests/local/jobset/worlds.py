"""Builders of JobSetSpecs and of tries, and a small world that does what decide() says."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from trainer_infra.local.jobset.decide import Decision, JobSetState, decide
from trainer_infra.local.jobset.pods import ObservedPod, PodId, PodPhase, Start

T0 = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def replicated(
    name: str, pods: int = 1, *, replicas: int = 1, depends_on: Any = None, **job: Any
) -> dict[str, Any]:
    policy = job.pop("restart_policy", "Never")
    pod_spec = {"restartPolicy": policy, "containers": [{"name": "node"}]}
    entry: dict[str, Any] = {
        "name": name,
        "replicas": replicas,
        "template": {
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "template": {"spec": pod_spec},
                **job,
            }
        },
    }
    if depends_on:
        entry["dependsOn"] = [{"name": on, "status": status} for on, status in depends_on]
    return entry


def jobset(*jobs: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"replicatedJobs": list(jobs), **spec}


def running(job: str, index: int = 0, *, ready: bool = True, **more: Any) -> ObservedPod:
    pod = ObservedPod(
        id=PodId(job, more.pop("replica", 0), index),
        attempt=0,
        retry=0,
        phase=PodPhase.RUNNING,
        ready=ready,
        exit_code=None,
        container="",
        reason="",
        started=T0,
        finished=None,
    )
    return replace(pod, **more)


def ended(pod: ObservedPod, code: int, after: float = 1, **more: Any) -> ObservedPod:
    done = replace(
        pod,
        phase=PodPhase.FAILED if code else PodPhase.SUCCEEDED,
        ready=False,
        exit_code=code,
        container="node",
        reason="Error" if code else "Completed",
        finished=at(after),
    )
    return replace(done, **more)


def succeeded(job: str, index: int = 0, after: float = 1, **more: Any) -> ObservedPod:
    return ended(running(job, index, **more), 0, after)


def failed(job: str, index: int = 0, after: float = 1, code: int = 1, **more: Any) -> ObservedPod:
    return ended(running(job, index, **more), code, after)


def stopped(job: str, index: int = 0, after: float = 1, **more: Any) -> ObservedPod:
    return ended(running(job, index, **more), 143, after, reason="Stopped")


def start(
    job: str, index: int = 0, *, seconds: float = 0, attempt: int = 0, retry: int = 0
) -> Start:
    return Start(PodId(job, 0, index), attempt, retry, at(seconds))


def counts(name: str, **numbers: int) -> dict[str, Any]:
    zero = {"ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
    return {"name": name, **zero, **numbers}


def condition(kind: str, reason: str, message: str, seconds: int, *, on: bool = True) -> Any:
    return {
        "type": kind,
        "status": "True" if on else "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": f"2026-01-01T12:{seconds // 60:02}:{seconds % 60:02}Z",
    }


def status(*jobs: Any, conditions: Any = (), restarts: int = 0, toward_max: int = 0) -> Any:
    return {
        "conditions": list(conditions),
        "replicatedJobsStatus": list(jobs),
        "restarts": restarts,
        "restartsCountTowardsMax": toward_max,
    }


@dataclass
class World:
    """A JobSet `tj`, its tries so far and the time, driven by decide()."""

    spec: dict[str, Any]
    pods: list[ObservedPod] = field(default_factory=list)
    state: JobSetState = field(default_factory=JobSetState)
    seconds: float = 0

    def decide(self) -> Decision:
        """Decide once, without doing anything."""
        decision = decide("tj", self.spec, tuple(self.pods), self.state, at(self.seconds))
        self.state = decision.state
        return decision

    def step(self, *, stops: bool = True) -> Decision:
        """Decide, then end what is to stop, unless that takes longer, and start what is due."""
        decision = self.decide()
        for position, pod in enumerate(self.pods):
            if stops and pod.phase is PodPhase.RUNNING and pod.id in decision.stop:
                self.pods[position] = ended(pod, 143, self.seconds, reason="Stopped")
        for each in decision.start:
            if each.not_before <= at(self.seconds):
                pod = running(each.id.job, each.id.index, replica=each.id.replica)
                self.pods.append(
                    replace(
                        pod,
                        attempt=each.attempt,
                        retry=each.retry,
                        started=at(self.seconds),
                        ready=True,
                    )
                )
        return decision

    def end(self, job: str, code: int, index: int = 0) -> None:
        """End the running try of a pod."""
        self._each_running(job, index, lambda pod: ended(pod, code, self.seconds))

    def _each_running(
        self, job: str, index: int, change: Callable[[ObservedPod], ObservedPod]
    ) -> None:
        for position, pod in enumerate(self.pods):
            if pod.phase is PodPhase.RUNNING and (pod.id.job, pod.id.index) == (job, index):
                self.pods[position] = change(pod)

    @property
    def running(self) -> list[tuple[str, int, int]]:
        """Job, index and attempt of what runs."""
        return [
            (pod.id.job, pod.id.index, pod.attempt)
            for pod in self.pods
            if pod.phase is PodPhase.RUNNING
        ]
