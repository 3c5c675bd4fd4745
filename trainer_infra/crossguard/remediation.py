"""Patches of findings -> the properties that the engine is to use instead.

What a TrainJob or a runtime renders to is rendered anew from the patched spec, so that what is
shown is what is created. Values that are not known yet stay in their places.
"""

from collections.abc import Iterable
from typing import Any

from trainer_infra import names
from trainer_infra.crossguard import values
from trainer_infra.crossguard.declared_objects import class_of_type, wire_of_train_job
from trainer_infra.deploy.operations import rendering, targets, training_runtime
from trainer_infra.deploy.operations.declared_run import read_runtime, runtime_of
from trainer_infra.deploy.operations.properties import ResourceProperties, TrainJobProperties
from trainer_infra.deploy.operations.values import is_unknown, plain_json
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.rules import patch
from trainer_infra.rules.finding import Change


def remedied_properties(
    kind: str, properties: Any, changes: Iterable[Change]
) -> dict[str, Any] | None:
    """The properties with the changes made; None where they cannot be made here.

    A batch is left to its program, and so is what has secrets in it: their mark would be lost.

    Args:
        kind: Type of the resource.
        properties: As CrossGuard hands them over.
        changes: Of the object that the resource is.
    """
    raw = dict(values.behind_proxy(properties))
    known = values.plain_value(raw)
    if not class_of_type(kind):
        if values.has_secret(raw):
            return None
        return {**raw, **values.to_engine(patch.apply_patch(known, changes))}
    if values.has_secret(raw.get("spec")):
        return None
    try:
        made = _ours(class_of_type(kind), known, tuple(changes))
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
    target = targets.open_target(whole["target"], engine=ResourceProperties(whole).engine)
    if kind == names.TRAIN_JOB:
        job = TrainJobProperties(whole)
        run = rendering.compose_run(job, job.name, runtime_of(job), target)
        return rendering.by_role(run.objects, job.name)
    runtime = read_runtime(ResourceProperties(whole).wire_object(kind))
    return training_runtime.example_objects(whole, runtime, target)[0]
