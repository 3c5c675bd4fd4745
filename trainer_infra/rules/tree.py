"""Objects -> subjects: each TrainJob with the runtime that it refers to.

Called by `review` for files and clusters, by `deploy` for stacks, and for fixtures. A runtime is
looked for among the objects, then in the catalog.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from trainer_infra import catalog, names
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.rules.subject import AnyRuntime, Subject, subject_of
from trainer_infra.rules.value import UNKNOWN

Key = tuple[str, str, str]
"""Kind, namespace and name; the namespace of cluster-scoped kinds is empty."""


def subjects_of(
    judged: Sequence[JSONObject], others: Iterable[JSONObject] = (), behaviour: Behaviour = OURS
) -> tuple[Subject, ...]:
    """The subjects of the objects that are judged, in order.

    Args:
        judged: As they were written.
        others: What is known beside them, for example what is in the cluster already.
        behaviour: What renders TrainJobs.
    """
    own = runtimes(judged)
    known = {**runtimes(others), **own}
    return tuple(_subject(each, own, known, behaviour) for each in judged)


def runtimes(objects: Iterable[JSONObject]) -> dict[Key, AnyRuntime]:
    """Those of the objects that are runtimes."""
    found = {}
    for each in objects:
        metadata = each.get("metadata")
        kind = _text(each.get("kind"))
        if kind in names.RUNTIMES and isinstance(metadata, Mapping):
            namespace = metadata.get("namespace") if kind == names.TRAINING_RUNTIME else None
            found[kind, _text(namespace), _text(metadata.get("name"))] = AnyRuntime.read(each)
    return found


def _subject(
    value: JSONObject,
    own: Mapping[Key, AnyRuntime],
    known: Mapping[Key, AnyRuntime],
    behaviour: Behaviour,
) -> Subject:
    key = runtime_reference(value)
    if key is None:
        return subject_of(value, behaviour=behaviour)
    made = subject_of(value, known.get(key) or shipped_runtime(key), behaviour)
    return replace(made, runtime_is_judged=key in own)


def runtime_reference(value: JSONObject) -> Key | None:
    """What runtime a TrainJob refers to; None for other kinds, and where it is not known."""
    spec, metadata = value.get("spec"), value.get("metadata")
    named = spec.get("runtimeRef") if isinstance(spec, Mapping) else None
    if value.get("kind") != names.TRAIN_JOB or not isinstance(named, Mapping):
        return None
    name, kind = named.get("name"), named.get("kind") or names.CLUSTER_TRAINING_RUNTIME
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    of_namespace = kind == names.TRAINING_RUNTIME
    if UNKNOWN in (name, kind) or (of_namespace and namespace is UNKNOWN):
        return None
    if named.get("apiGroup") not in (None, names.GROUP):
        return None
    return _text(kind), _text(namespace) if of_namespace else "", _text(name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@cache
def shipped_runtime(key: Key) -> AnyRuntime | None:
    """The catalog's runtime of that kind and name; None where it has none."""
    kind, _, name = key
    if kind != names.CLUSTER_TRAINING_RUNTIME:
        return None
    try:
        runtime = catalog.get(name)
    except InvalidInput:
        return None
    return AnyRuntime(runtime.to_wire(), runtime)
