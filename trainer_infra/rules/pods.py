"""The pods that an object asks for, wherever in it they stand: what most rules judge.

A runtime's and a JobSet's stand in themselves; a TrainJob's stand in the JobSet that it renders to,
after its patches. Objects of other projects write pods too, which rules of pod security and supply
chain judge; in a kind that no rule knows, and in a patch, what has the fields of a pod is one. Rules
take `pods_of`, `containers`, `volumes` or `jobsets` as their places.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.api.shape import workloads
from trainer_infra.render import resolve
from trainer_infra.rules import inner_objects
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import EVERY_POD, Subject, Value
from trainer_infra.rules.value import ABSENT, UNKNOWN, is_list, is_mapping

WORKLOADS: Final = names.WITH_PODS | {*workloads.TEMPLATES}
"""Every kind of which it is known where its pods are."""
KNOWN_KINDS: Final = WORKLOADS | names.QUEUEING_KINDS
"""Kinds of which every field is known: only texts in them may have objects."""
ALL_WITH_PODS: Final = WORKLOADS | {EVERY_POD}
"""Every kind whose pods are judged."""
COMPUTING: Final = frozenset(
    each
    for each in WORKLOADS
    if each in names.WITH_PODS or each.startswith("Ray") or each.endswith("Job")
) | {"Pod", "LeaderWorkerSet"}
"""Kinds that compute; what else runs on a cluster may be a part of it."""
_LISTS: Final = inner_objects.CONTAINERS
INITIALIZERS: Final = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


@dataclass(frozen=True, slots=True)
class Pod:
    """The pods of one replicated job, or of one template of an object of another kind."""

    job: Value
    """The replicated job: `replicas`, and the Job below `template`; else what the template stands in."""
    job_spec: Value
    """The JobSpec: `parallelism`, `backoffLimit`; else what the template stands in."""
    template: Value
    """The pod template: `metadata` and `spec`."""
    step: str
    """Which step of a TrainJob it is: trainer, an initializer, or empty."""
    part: Value | None = None
    """What has the fields of a PodSpec, where no more than that is known; None where all is."""

    @property
    def spec(self) -> Value:
        """The PodSpec."""
        return self.template["spec"] if self.part is None else self.part

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
    pod: Pod
    is_init: bool

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


def linux_containers(subject: Subject) -> Iterator[PodContainer]:
    """Those of pods that do not say that they are of Windows, where the API server takes no field of Linux."""
    for each in containers(subject):
        if each.pod.spec.at("os", "name").raw != "windows":
            yield each


def volumes(subject: Subject) -> tuple[Value, ...]:
    """The volumes of those pods."""
    return subject.once(_volumes)


def _jobsets(subject: Subject) -> Iterator[Value]:
    if subject.kind in names.RUNTIMES:
        yield subject.object.at("spec", "template", "spec")
    elif subject.kind == names.JOBSET:
        yield subject.object["spec"]
    if not subject.is_whole:
        subject.noted[REFERENCE] = None
    yield from (each["spec"] for each in subject.rendered_of(names.JOBSET))


def _of(subject: Subject) -> Iterator[Pod]:
    if subject.is_part or subject.kind not in WORKLOADS:
        yield from _parts(subject)
        return
    for spec in jobsets(subject):
        for job in spec["replicatedJobs"].items():
            template = job.at("template", "spec", "template")
            label = job.at(*resolve.ANCESTOR_PATH).raw
            step = label if isinstance(label, str) else ""
            yield Pod(job, job.at("template", "spec"), template, step)
    for path in workloads.TEMPLATES.get(subject.kind, ()):
        for holder in _below(subject.object, path[:-1]):
            template = holder[path[-1]] if path else holder
            if template["spec"].raw is not ABSENT:
                yield Pod(holder, holder, template, "")


def _parts(subject: Subject) -> Iterator[Pod]:
    """What has the fields of a pod; what it leaves out is not known, nor what something fills in."""
    whole, root = subject.object.raw, replace(subject.object.root, gaps=((),))
    paths = tuple(inner_objects.pods_in(whole))
    inside = Value(inner_objects.filled_in(whole, whole) if paths else whole, root)
    for path in paths:
        unknown = Value(UNKNOWN, root, path)
        template = inside.at(*path[:-1]) if path[-1:] == ("spec",) else unknown
        yield Pod(unknown, unknown, template, "", inside.at(*path))


def _volumes(subject: Subject) -> Iterator[Value]:
    for pod in pods_of(subject):
        yield from pod.spec["volumes"].items()


def _below(value: Value, path: Path) -> Iterator[Value]:
    if not path:
        yield value
    elif path[0] == workloads.EACH:
        named = (each for _, each in value.fields())
        for each in value.items() if is_list(value.raw) else named:
            yield from _below(each, path[1:])
    else:
        yield from _below(value[path[0]], path[1:])


def _containers(subject: Subject) -> Iterator[PodContainer]:
    for pod in pods_of(subject):
        part = pod.part
        for key in _LISTS if part is None else inner_objects.container_fields(part.raw):
            inside = pod.spec[key]
            is_one = part is not None and is_mapping(inside.raw)
            for each in (inside,) if is_one else inside.items():
                yield PodContainer(each, pod, key == _LISTS[0])
