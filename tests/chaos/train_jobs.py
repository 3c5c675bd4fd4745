"""The TrainJobs of a trial: of every kind that ends in another way, on nodes that kwok plays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from from_source.cluster import kwok
from trainer_infra import catalog
from trainer_infra.json_values import JSONObject

PREFIX: Final = "chaos"


@dataclass(frozen=True, slots=True)
class Kind:
    """TrainJobs that end in the same way."""

    name: str
    runtime: str
    """Of the catalog."""
    ending: str
    """Annotation by which kwok ends the pods that decide; empty: they run on."""
    deciding: str
    """Replicated job whose pods decide."""
    condition: str
    """Type of the condition that it ends with."""
    reason: str
    spec: JSONObject
    is_resumed: bool = False

    @property
    def deletes_its_job_set(self) -> bool:
        return self.reason == "DeadlineExceeded"


TORCH, MPI = "torch-distributed", "deepspeed-distributed"
_COMPLETE = ("Complete", "AllJobsCompleted")
KINDS: Final = (
    Kind("torch", TORCH, kwok.COMPLETE, "node", *_COMPLETE, {"trainer": {"numNodes": 2}}),
    Kind("mpi", MPI, kwok.COMPLETE, "launcher", *_COMPLETE, {}),
    Kind("held", TORCH, kwok.COMPLETE, "node", *_COMPLETE, {"suspend": True}, is_resumed=True),
    Kind("failing", TORCH, kwok.FAIL, "node", "Failed", "FailedJobs", {}),
    Kind("late", TORCH, "", "node", "Failed", "DeadlineExceeded", {}),
)
"""In turn; those with a deadline are posted first."""


@dataclass(frozen=True, slots=True)
class Posted:
    """One TrainJob of a trial."""

    name: str
    kind: Kind

    deadline: int
    """Seconds of one that runs for too long."""

    def value(self, namespace: str) -> JSONObject:
        """As a user writes it."""
        late = {"activeDeadlineSeconds": self.deadline} if self.kind.deletes_its_job_set else {}
        runtime = {"runtimeRef": {"name": f"{PREFIX}-{self.kind.name}"}}
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": self.name, "namespace": namespace},
            "spec": {**runtime, **self.kind.spec, **late},
        }


def mixed(count: int, deadline: int, kinds: Sequence[Kind] = KINDS) -> list[Posted]:
    """So many TrainJobs, those with a deadline first."""
    wanted = enumerate(islice(cycle(kinds), count))
    made = [Posted(f"{each.name}-{number}", each, deadline) for number, each in wanted]
    return sorted(made, key=lambda each: not each.kind.deletes_its_job_set)


def runtimes() -> Iterator[JSONObject]:
    """A ClusterTrainingRuntime for each kind: the catalog's, whose pods kwok's nodes take and end."""
    for kind in KINDS:
        value: Any = catalog.get(kind.runtime).to_wire()
        value["metadata"]["name"] = f"{PREFIX}-{kind.name}"
        for job in value["spec"]["template"]["spec"]["replicatedJobs"]:
            inner = job["template"]["spec"]
            inner["backoffLimit"] = 0
            pod = inner["template"]
            pod["spec"]["tolerations"] = [{"key": kwok.TAINT["key"], "operator": "Exists"}]
            pod["spec"]["nodeSelector"] = {"pool": PREFIX}
            if kind.ending and job["name"] == kind.deciding:
                pod["metadata"] = {"annotations": {kind.ending: "true"}}
        yield value
