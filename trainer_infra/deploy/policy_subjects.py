"""Properties of a resource -> the objects that rules judge, with what they render to.

Called by `crossguard`. A TrainJob is judged with the runtime and the rendering that `check` put into
its inputs; a batch as its members, each as the TrainJob that it is. Resources of
pulumi_kubernetes are objects as they are. All else is nobody's business here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.deploy import members, training_runtime
from trainer_infra.rules import subject as subjects
from trainer_infra.rules import tree
from trainer_infra.rules.subject import AnyRuntime, Subject
from trainer_infra.rules.value import UNKNOWN

JSON = Mapping[str, Any]

_OURS: Final = "pulumi-python:dynamic/trainer:"
_KUBERNETES: Final = "kubernetes:"


@dataclass(frozen=True, slots=True)
class Declared:
    """One object of a resource."""

    subject: Subject
    """The object."""
    member: str = ""
    """Its name in a batch; empty where the resource is the object."""


def of(kind: str, properties: JSON, others: Sequence[JSON] = ()) -> tuple[Declared, ...]:
    """The objects of a resource.

    Args:
        kind: Type of the resource, `pulumi-python:dynamic/trainer:TrainJob`.
        properties: Its inputs as plain JSON; unknown values may stand in them.
        others: Objects of the stack that were judged before: what it refers to is registered first.
    """
    if is_plain(kind):
        value = {key: each for key, each in properties.items() if not key.startswith("__")}
        return (Declared(tree.of((*others, value))[-1]),)
    ours = kind.removeprefix(_OURS) if kind.startswith(_OURS) else ""
    if ours == names.TRAIN_JOB:
        return (Declared(train_job(properties)),)
    if ours == "TrainJobs":
        return tuple(_members(properties))
    if ours in names.RUNTIMES and properties.get("spec") is not None:
        return (Declared(tree.of((training_runtime.wire(properties),))[0]),)
    return ()


def is_plain(kind: str) -> bool:
    """Whether the inputs of that type of resource are an object of Kubernetes as it is."""
    return kind.startswith(_KUBERNETES)


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
    given = properties.get("runtime")
    runtime = AnyRuntime.read(given) if isinstance(given, Mapping) else _named(value)
    rendered = properties.get("rendered")
    if not isinstance(rendered, Mapping):
        return subjects.of(value, runtime)
    known = subjects.of(value, AnyRuntime(runtime.wire, None) if runtime else None)
    return subjects.given(known, rendered.values())


def _named(value: JSON) -> AnyRuntime | None:
    key = tree.reference(value)
    return tree.shipped(key) if key else None


def _members(properties: JSON) -> Iterator[Declared]:
    if not isinstance(properties.get("jobs"), Mapping):
        return
    for member, each in members.of(properties).items():
        yield Declared(train_job(each), member)
