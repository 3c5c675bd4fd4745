"""The values of a migration: the v1 job that came in, what became of it, and what was lost.

Made and read by every file of this room; `cli` prints them.
"""

from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from trainer_infra.api.base import KubeModel
from trainer_infra.api.finding import Path, path_text
from trainer_infra.api.runtime import TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.secret_texts import texts

MISPLACED: Final = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
"""Fields of the run policy that the first operators had in the spec itself, where charts still write them."""


@dataclass(frozen=True, slots=True)
class Note:
    """One field of the v1 job that has no counterpart, or not quite."""

    path: Path
    """Where it stands in the v1 job."""
    value: object
    """What it says; shown whole, for it is nowhere else then, but for secrets."""
    advice: str
    """What becomes of it and what to do, a clause without a full stop."""

    @override
    def __str__(self) -> str:
        place = path_text(self.path)
        value = texts.shown_value(self.value, place)
        return texts.shown_text(f"{place}: {value!r}: {self.advice}")


class SchedulingPolicy(KubeModel):
    """`runPolicy.schedulingPolicy`: all pods are placed at once."""

    min_available: int | None = None
    queue: str | None = None
    min_resources: JSONObject | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: int | None = None


class RunPolicy(KubeModel):
    """`spec.runPolicy`, which all kinds have."""

    clean_pod_policy: str | None = None
    ttl_seconds_after_finished: int | None = None
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    managed_by: str | None = None


@dataclass(frozen=True, slots=True)
class V1Job:
    """A v1 job whose fields are all known."""

    api_version: str
    kind: str
    metadata: JSONObject
    spec: JSONObject

    @property
    def name(self) -> str:
        """Its name, which the TrainJob, the runtime and the JobSet have too."""
        return str(self.metadata["name"])

    @property
    def run_policy(self) -> RunPolicy:
        """Its run policy with what stands in the spec itself; an empty one where it has none."""
        misplaced = {key: self.spec[key] for key in MISPLACED if key in self.spec}
        return RunPolicy(**misplaced | dict(self.spec.get("runPolicy") or {}))

    @property
    def is_mpi(self) -> bool:
        """Whether each replica type stays a job of its own."""
        return self.kind == "MPIJob"

    @property
    def replicas(self) -> dict[str, int]:
        """Numbers of pods by replica type, in lower case; of those that have one."""
        found = (each for key, each in self.spec.items() if key.endswith("ReplicaSpecs"))
        counts = {kind.lower(): each.get("replicas", 1) for kind, each in next(found, {}).items()}
        return {kind: count for kind, count in counts.items() if count}

    @property
    def masters(self) -> int:
        """Nodes before worker 0."""
        return self.replicas.get("master", 0)

    def host(self, index: int = 0, job: str = "node") -> str:
        """The host name of a pod of the migrated job."""
        return f"{self.name}-{job}-0-{index}.{self.name}"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a kind's own file makes of it; the rest is alike for all kinds."""

    framework: str
    """Value of the runtime's framework label."""
    ml_policy: JSONObject
    """mlPolicy of the runtime, without numNodes."""
    jobs: tuple[dict[str, Any], ...]
    """replicatedJobs of the runtime, in their order."""
    trainer: JSONObject
    """spec.trainer of the TrainJob."""
    pods: int
    """Pods that train, which a v1 gang has by default."""
    job_set: JSONObject
    """Further fields of the JobSetSpec."""
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """What a v1 job becomes."""

    runtime: TrainingRuntime
    train_job: TrainJob
    notes: tuple[Note, ...]
    """What has no counterpart: first the replicas, then the kind's own fields, then the rest."""
