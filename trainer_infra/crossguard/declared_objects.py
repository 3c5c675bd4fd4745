"""Properties of a resource -> the objects that rules judge, with what they render to.

Called by `crossguard`. A TrainJob is judged with the runtime and the rendering that `check` put into
its inputs; a batch as its members, each as the TrainJob that it is. Resources of
pulumi_kubernetes are objects as they are. All else is nobody's business here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from trainer_infra import names
from trainer_infra.crossguard import values
from trainer_infra.deploy import resource_type
from trainer_infra.deploy.operations import training_runtime
from trainer_infra.deploy.operations.train_jobs import members
from trainer_infra.rules import subject as subjects
from trainer_infra.rules import tree
from trainer_infra.rules.subject import AnyRuntime, Subject
from trainer_infra.rules.tree import Key
from trainer_infra.rules.value import UNKNOWN

JSON = Mapping[str, Any]
Runtimes = Mapping[Key, AnyRuntime]

NONE: Final[Runtimes] = MappingProxyType({})
"""No runtimes."""

_KUBERNETES: Final = "kubernetes:"


@dataclass(frozen=True, slots=True)
class Declared:
    """One object of a resource."""

    subject: Subject
    """The object."""
    member: str = ""
    """Its name in a batch; empty where the resource is the object."""
    urn: str = ""
    """Of the resource."""


def of(resource: Any, runtimes: Runtimes = NONE) -> tuple[Declared, ...]:
    """The objects of a resource.

    Args:
        resource: As CrossGuard hands it over, with `resource_type`, `props` and `urn`.
        runtimes: Those of the stack that are judged as well: what a resource refers to is registered
            first.
    """
    kind = resource.resource_type
    if not kind.startswith((names.RESOURCE_TYPE, _KUBERNETES)):
        return ()
    found = _objects(kind, values.plain(resource.props), runtimes)
    return tuple(Declared(subject, member, resource.urn) for member, subject in found)


def _objects(kind: str, properties: JSON, runtimes: Runtimes) -> Iterator[tuple[str, Subject]]:
    """The objects, each with its name in a batch."""
    ours = resource_type.class_of(kind)
    if is_plain(kind):
        value = {key: each for key, each in properties.items() if not key.startswith("__")}
        yield "", _as_it_is(value, runtimes)
    elif ours == names.TRAIN_JOB:
        yield "", train_job(properties)
    elif ours == "TrainJobs" and isinstance(properties.get("jobs"), Mapping):
        for member, each in members.of(properties).items():
            yield member, train_job(each)
    elif ours in names.RUNTIMES and properties.get("spec") is not None:
        yield "", subjects.of(training_runtime.wire(properties))


def is_plain(kind: str) -> bool:
    """Whether the inputs of that type of resource are an object of Kubernetes as it is."""
    return kind.startswith(_KUBERNETES)


def runtimes(declared: Iterable[Declared]) -> dict[Key, AnyRuntime]:
    """Those of the objects that are runtimes, to which others may refer."""
    return tree.runtimes(each.subject.object.raw for each in declared)


def _as_it_is(value: JSON, runtimes: Runtimes) -> Subject:
    key = tree.reference(value)
    if key is None:
        return subjects.of(value)
    made = subjects.of(value, runtimes.get(key) or tree.shipped(key))
    return replace(made, runtime_is_judged=key in runtimes)


def wire(properties: JSON) -> dict[str, Any]:
    """The TrainJob that the inputs say, as a manifest would."""
    keys = ("name", "namespace", "labels", "annotations")
    metadata = {key: properties[key] for key in keys if properties.get(key)}
    metadata.setdefault("name", UNKNOWN)
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": metadata,
        "spec": properties.get("spec", UNKNOWN),
    }


def train_job(properties: JSON) -> Subject:
    """The TrainJob of a resource's inputs; rendered here where a value is not known as yet."""
    value = wire(properties)
    given, rendered = properties.get("runtime"), properties.get("rendered")
    if isinstance(given, Mapping) and isinstance(rendered, Mapping):
        return subjects.given(subjects.of(value, AnyRuntime(given, None)), rendered.values())
    runtime = AnyRuntime.read(given) if isinstance(given, Mapping) else _named(value)
    return subjects.of(value, runtime)


def _named(value: JSON) -> AnyRuntime | None:
    key = tree.reference(value)
    return tree.shipped(key) if key else None
