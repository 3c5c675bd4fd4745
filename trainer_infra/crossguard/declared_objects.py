"""Properties of a resource -> the objects that rules judge, with what they render to.

A TrainJob is judged with the runtime and the rendering that `check` put into its inputs; a batch as
its members, each as the TrainJob that it is. Resources of pulumi_kubernetes are objects as they
are. Nothing else is judged.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from trainer_infra import names
from trainer_infra.catalog.runtime_key import RuntimeKey
from trainer_infra.crossguard.values import plain_value
from trainer_infra.deploy.operations.properties import ResourceProperties
from trainer_infra.deploy.operations.train_jobs.members import members_of
from trainer_infra.json_values import JSONObject
from trainer_infra.rules import subject as rule_subject
from trainer_infra.rules import tree
from trainer_infra.rules.subject import AnyRuntime, Subject
from trainer_infra.rules.value import UNKNOWN

Runtimes = Mapping[RuntimeKey, AnyRuntime]

NONE: Final[Runtimes] = MappingProxyType({})
"""No runtimes."""

_KUBERNETES: Final = "kubernetes:"
_PATCH: Final = "Patch"
"""How types of resources end that change objects of others."""
_DEFAULT: Final = re.compile(r"default(_[0-9]\w*)?", re.ASCII)
"""Pulumi's name of a provider that no program made: its version is in it, where it has one."""


@dataclass(frozen=True, slots=True)
class DeclaredObject:
    """One object of a resource."""

    subject: Subject
    """The object."""
    member: str = ""
    """Its name in a batch; empty where the resource is the object."""
    urn: str = ""
    """Of the resource."""
    is_local: bool = False
    """Whether the local target runs it: on this machine, where no cluster is."""
    provider: str | None = None
    """Urn of the provider whose cluster it is of, empty for the default one; None for a resource of
    ours, which has none."""
    is_patch: bool = False
    """Whether the resource only changes an object that is there."""


def declared_objects(resource: Any, runtimes: Runtimes = NONE) -> tuple[DeclaredObject, ...]:
    """The objects of a resource.

    Args:
        resource: As CrossGuard hands it over, with `resource_type`, `props` and `urn`.
        runtimes: Those of the stack that are judged as well: what a resource refers to is registered
            first.
    """
    kind = resource.resource_type
    if not is_judged(kind):
        return ()
    properties = plain_value(resource.props)
    is_local = not is_plain(kind) and properties.get("target") == names.TARGET_LOCAL
    found = _objects(kind, properties, runtimes)
    whose = (resource.urn, is_local, _provider(resource), is_plain(kind) and kind.endswith(_PATCH))
    return tuple(DeclaredObject(each, member, *whose) for member, each in found)


def _provider(resource: Any) -> str | None:
    if not is_plain(resource.resource_type):
        return None
    provider = resource.provider
    is_default = provider is None or _DEFAULT.fullmatch(provider.name) is not None
    return "" if is_default else str(provider.urn)


def _objects(
    kind: str, properties: JSONObject, runtimes: Runtimes
) -> Iterator[tuple[str, Subject]]:
    """The objects, each with its name in a batch."""
    ours = class_of_type(kind)
    if is_plain(kind):
        value = {key: each for key, each in properties.items() if not key.startswith("__")}
        yield "", tree.subject_with_runtime(value, runtimes, runtimes)
    elif ours == names.TRAIN_JOB:
        yield "", train_job(properties)
    elif ours == "TrainJobs" and isinstance(properties.get("jobs"), Mapping):
        for member, each in members_of(properties).items():
            yield member, train_job(each)
    elif ours in names.RUNTIMES and properties.get("spec") is not None:
        yield "", rule_subject.subject_of(ResourceProperties(properties).wire_object(ours))


def class_of_type(kind: str) -> str:
    """The class of a resource of ours, by its type; empty for another's."""
    if not kind.startswith(names.RESOURCE_TYPE):
        return ""
    short = kind.removeprefix(names.RESOURCE_TYPE)
    return next((name for name, each in names.SHORT_TYPES.items() if each == short), short)


def is_judged(kind: str) -> bool:
    """Whether that type of resource declares objects that rules may judge."""
    return kind.startswith((names.RESOURCE_TYPE, _KUBERNETES))


def is_plain(kind: str) -> bool:
    """Whether the inputs of that type of resource are an object of Kubernetes as it is."""
    return kind.startswith(_KUBERNETES)


def runtimes_among(declared: Iterable[DeclaredObject]) -> dict[RuntimeKey, AnyRuntime]:
    """Those of the objects that are runtimes, to which others may refer."""
    return tree.runtimes(each.subject.object.raw for each in declared)


def wire_of_train_job(properties: JSONObject) -> dict[str, Any]:
    """The TrainJob that the inputs say, as a manifest would; with what is missing as unknown."""
    name, spec = properties.get("name") or UNKNOWN, properties.get("spec", UNKNOWN)
    return ResourceProperties({**properties, "name": name, "spec": spec}).wire_object(
        names.TRAIN_JOB
    )


def train_job(properties: JSONObject) -> Subject:
    """The TrainJob of a resource's inputs; rendered here where a value is not known as yet."""
    value = wire_of_train_job(properties)
    given, rendered = properties.get("runtime"), properties.get("rendered")
    if isinstance(given, Mapping) and isinstance(rendered, Mapping):
        # Engine `controller` stores the TrainJob too, which is judged as what the resource is.
        others = (each for each in rendered.values() if each.get("kind") != names.TRAIN_JOB)
        return rule_subject.with_rendered(
            rule_subject.subject_of(value, AnyRuntime(given, None)), others
        )
    if isinstance(given, Mapping):
        return rule_subject.subject_of(value, AnyRuntime(given))
    key = tree.runtime_reference(value)
    return rule_subject.subject_of(value, tree.shipped_runtime(key) if key else None)
