"""A namespace for one test, beside the manager that is tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from from_source.cluster.client import Answer
from from_source.cluster.waiting import wait_until
from tests.conformance import objects
from tests.conformance.implementations import Apart
from tests.conformance.managers import RunningManager
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]
Value = TypeVar("Value")

PATIENCE: Final = 180.0
"""Seconds until what must happen counts as missing; a loaded machine is not a failure."""

RUNTIMES: Final = ("TrainingRuntime", "ClusterTrainingRuntime")
"""Kinds that a TrainJob may name."""
_API: Final = {
    "ConfigMap": "v1",
    "Job": "batch/v1",
    "Event": "events.k8s.io/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "Pod": "v1",
    "PodGroup": "scheduling.x-k8s.io/v1alpha1",
    "Secret": "v1",
    "ServiceAccount": "v1",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "TrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "ClusterTrainingRuntime": "trainer.kubeflow.org/v1alpha1",
    "VolcanoPodGroup": "scheduling.volcano.sh/v1beta1",
}
"""Kind -> its API version; two kinds have one name, so one has another here."""


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, with the manager's server behind it."""

    manager: RunningManager
    name: str
    """The namespace's, and the beginning of what a test makes in no namespace."""
    differences: frozenset[Deviation | Apart]
    """Deviations that the test's rules name."""

    def deviates(self, deviation: Deviation | Apart) -> bool:
        """Whether this manager decides otherwise than the reference here.

        The rule of the test must name the deviation.
        """
        assert deviation in self.differences
        return deviation in self.manager.implementation.deviations

    def path(self, kind: str, name: str = "") -> str:
        """Of a collection, or of an object in it."""
        version = _API[kind]
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        scope = "" if kind == "ClusterTrainingRuntime" else f"/namespaces/{self.name}"
        plural = f"{kind.removeprefix('Volcano').lower()}s"
        return f"{group}{scope}/{plural}" + (f"/{name}" if name else "")

    def submit(self, item: JSON, **query: str) -> Answer:
        """Create an object, which may be refused."""
        item = {"apiVersion": _API[item["kind"]], **item}
        return self.manager.client.create(self.path(item["kind"]), item, **query)

    def add(self, *items: JSON) -> JSON:
        """Create objects, which must be accepted; the last as it is stored."""
        return [self._stored(each) for each in items][-1]

    def _stored(self, item: JSON) -> JSON:
        answer = self.submit(item)
        assert answer.message == ""
        if item["kind"] in RUNTIMES:
            self.until(lambda: not self._is_missing(item))
        return answer.body

    def _is_missing(self, runtime: JSON) -> bool:
        """Whether the webhook of TrainJobs, which has a memory of runtimes, knows of none of that name."""
        ref = {"name": runtime["metadata"]["name"], "kind": runtime["kind"]}
        probe = {"kind": "TrainJob", "metadata": {"name": "probe"}, "spec": {"runtimeRef": ref}}
        return "must be created before" in self.submit(probe, dryRun="All").message

    def find(self, kind: str, name: str) -> JSON:
        """The object; empty if there is none."""
        answer = self.manager.client.get(self.path(kind, name))
        return answer.body if answer.status == 200 else {}

    def all(self, kind: str) -> list[JSON]:
        """All objects of a kind here."""
        items: list[JSON] = self.manager.client.get(self.path(kind)).body["items"]
        return items

    def merge(self, kind: str, name: str, change: JSON, subresource: str = "") -> Answer:
        """Change an object, which may be refused."""
        path = self.path(kind, name) + (f"/{subresource}" if subresource else "")
        return self.manager.client.merge(path, change)

    def change(self, kind: str, name: str, change: JSON, subresource: str = "") -> JSON:
        """Change an object, which must be accepted; it as it is stored."""
        answer = self.merge(kind, name, change, subresource)
        assert answer.message == ""
        return answer.body

    def delete(self, kind: str, name: str) -> None:
        """Delete an object that is there."""
        answer = self.manager.client.delete(self.path(kind, name))
        assert answer.message == ""

    def delete_runtime(self, name: str) -> None:
        """Delete a TrainingRuntime, and return once the webhook of TrainJobs knows that it is gone."""
        gone = self.find("TrainingRuntime", name)
        self.delete("TrainingRuntime", name)
        self.until(lambda: self._is_missing(gone))

    def until(self, seen: Callable[[], Value]) -> Value:
        """Look until something is seen, and answer with it."""
        last: list[Value] = []

        def happened() -> bool:
            last[:] = [seen()]
            return bool(last[0])

        assert wait_until(happened, PATIENCE), (
            f"not seen within {PATIENCE} s, but {last}; the manager's log: {self.manager.log}"
        )
        return last[0]

    def job_set(self, name: str = "a") -> JSON:
        """The TrainJob's JobSet, as soon as it is there."""
        return self.until(lambda: self.find("JobSet", name))

    def settled_job_set(self) -> JSON:
        """The same once the manager has seen what it made.

        Until then the reference may make it again, over what others wrote meanwhile.
        """
        self.job_set()
        self.settle()
        return self.job_set()

    def job_set_says(self, name: str = "a", **status: Any) -> None:
        """Play JobSet's controller: set fields of its status."""
        self.job_set(name)
        self.change("JobSet", name, {"status": status}, "status")

    def status(self, name: str = "a") -> JSON:
        """The TrainJob's status; empty if it has none."""
        found: JSON = self.find("TrainJob", name).get("status", {})
        return found

    def condition(self, kind: str, name: str = "a") -> Mapping[str, str]:
        """A condition of the TrainJob by its type; empty if it has none."""
        return by_type(self.status(name)).get(kind, {})

    def until_condition(self, kind: str, value: str, name: str = "a") -> Mapping[str, str]:
        """A condition of the TrainJob, as soon as it has that value."""
        self.until(lambda: self.condition(kind, name).get("status") == value)
        return self.condition(kind, name)

    def suspend(self, suspended: bool, name: str = "a", **spec: Any) -> None:
        """Suspend or resume the TrainJob, with other changes of its spec."""
        self.change("TrainJob", name, {"spec": {"suspend": suspended, **spec}})

    def touch(self, value: str, name: str = "a") -> None:
        """Make the manager look at the TrainJob again: an annotation changes."""
        self.change("TrainJob", name, {"metadata": {"annotations": {"example.com/seen": value}}})

    def settle(self) -> None:
        """Return when the manager has done all that events before this moment ask of it.

        Another TrainJob, made now, has its JobSet, and then a status from that: events of both kinds
        reach a manager in their order, and it works on them in that order.
        """
        marker = f"marker-{len(self.all('TrainJob'))}"
        runtime = f"{marker}-runtime"
        self.add(objects.runtime(runtime), objects.train_job(marker, runtime))
        self.job_set_says(marker, replicatedJobsStatus=[objects.job_status("node")])
        self.until(lambda: self.status(marker).get("jobsStatus"))

    def events(self, name: str = "a") -> list[JSON]:
        """Events about the TrainJob."""
        return [
            each
            for each in self.all("Event")
            if (each["regarding"]["kind"], each["regarding"]["name"]) == ("TrainJob", name)
        ]

    def until_failure(self, text: str, name: str = "a") -> JSON:
        """The event that the TrainJob's objects cannot be made, once its message has the text."""

        def failures() -> list[JSON]:
            return [
                each
                for each in self.events(name)
                if each["reason"] == "TrainJobResourcesCreationFailed" and text in each["note"]
            ]

        return self.until(failures)[0]


def by_type(status: JSON) -> dict[str, JSON]:
    """Conditions of a status."""
    return {each["type"]: each for each in status.get("conditions", ())}
