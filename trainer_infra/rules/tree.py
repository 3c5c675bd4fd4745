"""Objects -> subjects: each TrainJob with the runtime that it refers to.

A runtime is looked for among the objects, then in the catalog.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from trainer_infra import names
from trainer_infra.catalog import runtime_key as runtime_keys
from trainer_infra.catalog.runtime_key import RuntimeKey, runtime_key
from trainer_infra.json_values import JSONObject
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.rules.subject import AnyRuntime, Subject, subject_of, subject_of_runtime
from trainer_infra.rules.value import UNKNOWN


def subjects_of(
    judged: Sequence[JSONObject], others: Iterable[JSONObject] = (), behaviour: Behaviour = OURS
) -> tuple[Subject, ...]:
    """The subjects of the objects that are judged, in order.

    `others` are known beside them, for example what is in the cluster already.
    """
    own = runtimes(judged)
    known = {**runtimes(others), **own}
    return tuple(subject_with_runtime(each, own, known, behaviour) for each in judged)


def runtimes(objects: Iterable[JSONObject]) -> dict[RuntimeKey, AnyRuntime]:
    """Those of the objects that are runtimes."""
    found = {}
    for each in objects:
        if _text(each.get("kind")) in names.RUNTIMES and isinstance(each.get("metadata"), Mapping):
            found[_key(each)] = AnyRuntime(each)
    return found


def subject_with_runtime(
    value: JSONObject,
    own: Mapping[RuntimeKey, AnyRuntime],
    known: Mapping[RuntimeKey, AnyRuntime],
    behaviour: Behaviour = OURS,
) -> Subject:
    """The subject of an object; with its runtime, known or shipped, where it is a TrainJob.

    `own` are the runtimes that are judged themselves, `known` those and all others that are known.
    """
    key = runtime_reference(value)
    if key is None:
        read = own.get(_key(value)) if _text(value.get("kind")) in names.RUNTIMES else None
        if read is not None and read.wire is value:
            return replace(subject_of_runtime(read), behaviour=behaviour)
        return subject_of(value, behaviour=behaviour)
    shipped = None if key in known else shipped_runtime(key)
    made = subject_of(value, known.get(key) or shipped, behaviour)
    return replace(made, runtime_is_judged=key in own, runtime_is_shipped=shipped is not None)


def _key(runtime: JSONObject) -> RuntimeKey:
    metadata = runtime.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    return runtime_key(
        _text(runtime.get("kind")), _text(named.get("namespace")), _text(named.get("name"))
    )


def runtime_reference(value: JSONObject) -> RuntimeKey | None:
    """What runtime a TrainJob refers to; None for other kinds, and where it is not known."""
    spec, metadata = value.get("spec"), value.get("metadata")
    named = spec.get("runtimeRef") if isinstance(spec, Mapping) else None
    if value.get("kind") != names.TRAIN_JOB or not isinstance(named, Mapping):
        return None
    name, kind = named.get("name"), named.get("kind") or names.CLUSTER_TRAINING_RUNTIME
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    if UNKNOWN in (name, kind) or (kind == names.TRAINING_RUNTIME and namespace is UNKNOWN):
        return None
    if named.get("apiGroup") not in (None, names.GROUP):
        return None
    return runtime_key(_text(kind), _text(namespace), _text(name))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@cache
def shipped_runtime(key: RuntimeKey) -> AnyRuntime | None:
    """The catalog's runtime of that kind and name; None where it has none."""
    runtime = runtime_keys.shipped_runtime(key)
    return None if runtime is None else AnyRuntime(runtime.to_wire(), runtime)
