"""Properties of a resource -> the objects that rules judge, with what they render to; and patches -> properties.

A TrainJob is judged with the runtime and the rendering that `check` put into its inputs; a batch as
its members, each as the TrainJob that it is. Resources of pulumi_kubernetes are objects as they
are. Nothing else is judged. What a TrainJob or a runtime renders to is rendered anew from a patched
spec, so that what is shown is what is created.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.catalog.runtime_key import RuntimeKey
from trainer_infra.crossguard import values
from trainer_infra.deploy.operations import (
    preemption_outlook,
    rendering,
    targets,
    training_runtime,
)
from trainer_infra.deploy.operations.declared_run import read_runtime, runtime_of
from trainer_infra.deploy.operations.properties import ResourceProperties, TrainJobProperties
from trainer_infra.deploy.operations.train_jobs.members import members_of
from trainer_infra.deploy.operations.values import is_unknown, plain_json
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.rules import inner_objects, patch, tree
from trainer_infra.rules import subject as rule_subject
from trainer_infra.rules.finding import Change
from trainer_infra.rules.pods import KNOWN_KINDS
from trainer_infra.rules.subject import AnyRuntime, Subject
from trainer_infra.rules.value import UNKNOWN

Runtimes = Mapping[RuntimeKey, AnyRuntime]

NONE: Final[Runtimes] = MappingProxyType({})
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
    within: Path = ()
    """Where in the resource's object it stands; of that itself nothing."""


def declared_objects(resource: Any, runtimes: Runtimes = NONE) -> tuple[DeclaredObject, ...]:
    """The objects of a resource, as CrossGuard hands it over with `resource_type`, `props` and `urn`.

    The runtimes are those of the stack that are judged as well: what a resource refers to is registered first.
    """
    kind = resource.resource_type
    if not is_judged(kind):
        return ()
    properties = values.plain_value(resource.props)
    is_local, provider, is_patch = properties.get("target") == names.TARGET_LOCAL, None, False
    if is_plain(kind):
        known = resource.provider
        is_default = known is None or _DEFAULT.fullmatch(known.name) is not None
        is_local, provider = False, "" if is_default else str(known.urn)
        is_patch = kind.endswith(_PATCH)
    whose = (resource.urn, is_local, provider, is_patch)
    found = tuple(_objects(kind, properties, runtimes))
    inner = _inner(found[0][1].object.raw, runtimes) if is_plain(kind) else ()
    return (
        *(DeclaredObject(each, member, *whose) for member, each in found),
        # What stands in another is not around others.
        *(DeclaredObject(each, "", *whose[:3], True, path) for path, each in inner),
    )


def _inner(
    outer: JSONObject, runtimes: Runtimes, *, is_part: bool = False
) -> Iterator[tuple[Path, Subject]]:
    """The objects that stand in an object at any depth, each with its path; of a part of one only parts do."""
    is_known = outer.get("kind") in KNOWN_KINDS
    for above, each in () if is_known else inner_objects.parts_of(outer):
        inside = inner_objects.object_in(each) if above and isinstance(each, Mapping) else None
        if inside is None:
            continue
        start, value = inside
        path, below = (*above, *start), is_part or inner_objects.is_partial(above)
        inner = inner_objects.in_its_place(value, outer, is_part=below)
        if below:
            yield path, rule_subject.subject_of_part(inner)
        else:
            yield path, tree.subject_with_runtime(inner, runtimes, runtimes)
        deeper = _inner(inner, runtimes, is_part=below)
        yield from (((*path, *there), one) for there, one in deeper)


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
    known = {"spec": UNKNOWN, **properties, "name": properties.get("name") or UNKNOWN}
    return ResourceProperties(known).wire_object(names.TRAIN_JOB)


def train_job(properties: JSONObject) -> Subject:
    """The TrainJob of a resource's inputs with its code; rendered here where a value is not known as yet."""
    return preemption_outlook.with_code(_train_job(properties), properties.get("code"))


def _train_job(properties: JSONObject) -> Subject:
    value = wire_of_train_job(properties)
    given, rendered = properties.get("runtime"), properties.get("rendered")
    if not isinstance(given, Mapping):
        key = tree.runtime_reference(value)
        return rule_subject.subject_of(value, tree.shipped_runtime(key) if key else None)
    if not isinstance(rendered, Mapping):
        return rule_subject.subject_of(value, AnyRuntime(given))
    # Engine `controller` stores the TrainJob too, which is judged as what the resource is.
    others = (each for each in rendered.values() if each.get("kind") != names.TRAIN_JOB)
    subject = rule_subject.subject_of(value, AnyRuntime(given, None))
    return rule_subject.with_rendered(subject, others)


def remedied_properties(
    kind: str, properties: Any, changes: Iterable[Change]
) -> dict[str, Any] | None:
    """Properties, as CrossGuard hands them over, with changes of their object; None where that cannot be made here.

    A batch is left to its program, and so is what has secrets in it: their mark would be lost.
    """
    raw, ours = dict(values.behind_proxy(properties)), class_of_type(kind)
    known = values.plain_value(raw)
    if values.has_secret(raw.get("spec") if ours else raw):
        return None
    if not ours:
        return {**raw, **values.to_engine(patch.apply_patch(known, changes))}
    try:
        made = _ours(ours, known, tuple(changes))
    except InvalidInput:
        # The patch does not suit it; the validating half of the rule says what is wrong.
        return None
    return None if made is None else raw | values.to_engine(plain_json(made))


def _ours(kind: str, known: JSONObject, changes: tuple[Change, ...]) -> JSONObject | None:
    """The properties of one of our resources that change."""
    if kind == names.TRAIN_JOB:
        value = wire_of_train_job(known)
    elif kind in names.RUNTIMES:
        value = ResourceProperties(known).wire_object(kind)
    else:
        return None
    patched = patch.apply_patch(value, changes)
    metadata = patched["metadata"]
    made = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    made["spec"] = patched["spec"]
    if is_unknown(values.to_engine(known)):
        # `check` rendered nothing of it either.
        return made
    return {**made, "rendered": _rendered(kind, {**known, **made})}


def _rendered(kind: str, whole: JSONObject) -> JSONObject | None:
    target = targets.open_target(whole["target"], ResourceProperties(whole).engine)
    if kind == names.TRAIN_JOB:
        job = TrainJobProperties(whole)
        run = rendering.compose_run(job, job.name, runtime_of(job), target)
        return rendering.by_role(run.objects, job.name)
    runtime = read_runtime(ResourceProperties(whole).wire_object(kind))
    return training_runtime.example_objects(whole, runtime, target)[0]
