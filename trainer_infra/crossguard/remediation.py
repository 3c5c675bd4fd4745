"""Patches of findings -> the properties that the engine is to use instead.

Called by `crossguard` for rules whose enforcement is `remediate`. What a TrainJob or a runtime renders
to is rendered anew from the patched spec, so that what is shown is what is created. Values that are
not known yet stay in their places.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.crossguard import declared_objects, values
from trainer_infra.deploy import boundary, resource_type
from trainer_infra.deploy.operations import inputs, training_runtime
from trainer_infra.errors import InvalidInput
from trainer_infra.rules import patch
from trainer_infra.rules.finding import Change

JSON = Mapping[str, Any]


def remedied(kind: str, properties: Any, changes: Iterable[Change]) -> dict[str, Any] | None:
    """The properties with the changes made; None where they cannot be made here.

    A batch is left to its program, and so is what has secrets in it: their mark would be lost.

    Args:
        kind: Type of the resource.
        properties: As CrossGuard hands them over.
        changes: Of the object that the resource is.
    """
    raw = dict(values.target(properties))
    known = values.plain(raw)
    if not resource_type.class_of(kind):
        if values.has_secret(raw):
            return None
        return {**raw, **values.sent(patch.applied(known, changes))}
    if values.has_secret(raw.get("spec")):
        return None
    try:
        made = _ours(resource_type.class_of(kind), known, tuple(changes))
    except InvalidInput:
        # The patch does not suit it; the validating half of the rule says what is wrong.
        return None
    return None if made is None else raw | values.sent(boundary.plain(made))


def _ours(kind: str, known: JSON, changes: tuple[Change, ...]) -> JSON | None:
    """The properties of one of our resources that change."""
    if kind == names.TRAIN_JOB:
        value = declared_objects.wire(known)
    elif kind in names.RUNTIMES:
        value = training_runtime.wire(known)
    else:
        return None
    made = _parts(patch.applied(value, changes))
    if boundary.unknown(values.sent(known)):
        # `check` rendered nothing of it either.
        return made
    return {**made, "rendered": _rendered(kind, {**known, **made})}


def _rendered(kind: str, whole: JSON) -> JSON | None:
    if kind == names.TRAIN_JOB:
        run = inputs.composed(whole, str(whole["name"]), inputs.runtime_of(whole))
        return inputs.by_role(run.objects, str(whole["name"]))
    runtime = inputs.runtime_of({"runtime": training_runtime.wire(whole)})
    return training_runtime.example(whole, runtime)[0]


def _parts(value: JSON) -> dict[str, Any]:
    """What a patch can change of an object, as inputs."""
    metadata = value["metadata"]
    given = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    return {"spec": value["spec"], **given}
