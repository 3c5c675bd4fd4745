"""The pods that an object asks for, wherever in it they stand: what most rules judge.

A runtime's and a JobSet's stand in themselves; a TrainJob's stand in the JobSet that it renders to,
after its patches. Rules take `pods_of`, `containers` or `jobsets` as their places.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render import resolve
from trainer_infra.rules.pod_templates import WORKLOADS, pod_templates
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import Subject, Value

__all__ = ["INITIALIZERS", "WORKLOADS", "Pod", "PodContainer", "containers", "jobsets", "pods_of"]

INITIALIZERS: Final = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)
_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class Pod:
    """The pods of one replicated job."""

    job: Value
    """The replicated job: `replicas`, and the Job below `template`."""
    template: Value
    """The pod template: `metadata` and `spec`."""
    step: str
    """Which step of a TrainJob it is: trainer, an initializer, or empty."""
    policy: Value
    """The mlPolicy of the runtime that it stands in or was rendered from."""

    @property
    def spec(self) -> Value:
        """The PodSpec."""
        return self.template["spec"]

    @property
    def job_spec(self) -> Value:
        """The JobSpec: `parallelism`, `backoffLimit`."""
        return self.job.at("template", "spec")

    @property
    def trains(self) -> bool:
        """Whether it is one of the nodes that train, or their launcher."""
        return self.step == names.TRAINER

    def name(self) -> str:
        """The replicated job's name."""
        return self.job["name"].text()


@dataclass(frozen=True, slots=True)
class PodContainer:
    """One container of the pods of a replicated job."""

    value: Value
    """The container."""
    pod: Pod
    """Where it is."""
    is_init: bool
    """Whether it is an init container."""

    @property
    def is_node(self) -> bool:
        """Whether it is the container that trains."""
        return self.pod.trains and not self.is_init and self.value["name"].raw == names.NODE


def jobsets(subject: Subject) -> tuple[Value, ...]:
    """The spec of each JobSet that the object asks for."""
    return subject.once(_jobsets)


def pods_of(subject: Subject) -> tuple[Pod, ...]:
    """The pods that the object asks for."""
    return subject.once(_of)


def containers(subject: Subject) -> tuple[PodContainer, ...]:
    """The containers of those pods, init containers first."""
    return subject.once(_containers)


def _jobsets(subject: Subject) -> Iterator[Value]:
    if subject.kind in names.RUNTIMES:
        yield subject.object.at("spec", "template", "spec")
    elif subject.kind == names.JOBSET:
        yield subject.object["spec"]
    if not subject.is_whole:
        subject.noted[REFERENCE] = None
    yield from (each["spec"] for each in subject.rendered_of(names.JOBSET))


def _of(subject: Subject) -> Iterator[Pod]:
    policy = subject.ml_policy
    for spec in jobsets(subject):
        for job in spec["replicatedJobs"].items():
            template = job.at("template", "spec", "template")
            label = job.at(*resolve.ANCESTOR_PATH).raw
            yield Pod(job, template, label if isinstance(label, str) else "", policy)
    for template in pod_templates(subject.object):
        yield Pod(subject.object, template, "", policy)


def _containers(subject: Subject) -> Iterator[PodContainer]:
    for pod in pods_of(subject):
        for key in _LISTS:
            for each in pod.spec[key].items():
                yield PodContainer(each, pod, key == _LISTS[0])
