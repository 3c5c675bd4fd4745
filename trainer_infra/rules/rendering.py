"""What a TrainJob renders to, also while some of its values are not known.

A string that is not known is rendered as a stand-in and found again in the objects, where it is
unknown too. What is of another type is left out, and what it would have filled in the training
nodes is marked; the rest of what is left out is said to be unseen.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.api.finding import Path
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.shape import schema
from trainer_infra.api.shape.reading import unknown_paths
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject, with_leaves
from trainer_infra.render import pipeline, resolve
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.rules import older_overrides, origin, partial_rendering
from trainer_infra.rules.partial_rendering import STAND_IN
from trainer_infra.rules.patch import with_value
from trainer_infra.rules.value import UNKNOWN

REFERENCE: Final[Path] = ("spec", "runtimeRef", "name")
_TRAINER: Final[Path] = ("spec", "trainer")
_FILLS: Final = {field: filled for filled, field in origin.TRAINER_FIELDS.items()}
"""Fields of `spec.trainer`, and those of the container `node` that they fill."""
_FILLS_NODE: Final = {key: _FILLS[key] for key in ("resourcesPerNode", "env", "image")}
"""The same of the nodes of MPI, whose launcher has the label of the trainer."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a TrainJob renders to."""

    objects: tuple[JSONObject, ...] = ()
    """In apply order; unknown values stand in them."""
    problems: tuple[Problem, ...] = ()
    """Why it renders to nothing."""
    unseen: tuple[Path, ...] = ()
    """Values that may change it, are not known, and are marked nowhere in it."""
    fits_schema: bool = False
    """Whether all of the TrainJob is known, and its schema finds nothing wrong with it."""
    left_out: tuple[Path, ...] = ()
    """What of the TrainJob is not in it because something is wrong there; the reference to the runtime
    where that is not at hand: nothing is known then of what the TrainJob does not say itself."""


def rendering_of(
    job: JSONObject, runtime: Runtime | None, behaviour: Behaviour = OURS
) -> Rendering:
    """What the TrainJob renders to on the runtime; as far as that can be said, where not all can.

    The runtime is None where it is not at hand.
    """
    hidden = tuple(unknown_paths(job))
    whole = Rendering() if runtime is None else _whole(job, runtime, behaviour, hidden)
    if whole.objects:
        return whole
    if hidden and runtime is not None:
        # What is not known may be what makes it right: until then its pods are not seen.
        return replace(whole, unseen=tuple(dict.fromkeys((*whole.unseen, *hidden))))
    filled = _replaced(job, dict.fromkeys(hidden, STAND_IN), ())
    mended, wrong = partial_rendering.mended_job(older_overrides.with_patches(filled))
    written = (older_overrides.written_path(job, each) for each in wrong)
    # No pod has anything from the metadata of its TrainJob.
    left_out = {each for each in written if each[:1] != ("metadata",)}
    if mended is None:
        return replace(whole, left_out=(REFERENCE, *left_out))
    objects = () if runtime is None else _objects(mended, runtime, behaviour, left_out)
    if objects:
        return replace(whole, objects=objects, left_out=tuple(_unmarked(left_out)))
    alone = _objects(*partial_rendering.on_stand_in(mended), behaviour, left_out)
    own = tuple(partial_rendering.without_counts(each, mended) for each in alone)
    return replace(whole, objects=own, left_out=(REFERENCE, *_unmarked(left_out)))


def _objects(
    job: TrainJob, runtime: Runtime, behaviour: Behaviour, left_out: Collection[Path]
) -> tuple[JSONObject, ...]:
    try:
        objects = pipeline.refused_objects(job, runtime, behaviour)
    except InvalidInput:
        return ()
    return tuple(_marked(with_leaves(each, _found), left_out) for each in objects)


def _whole(
    job: JSONObject, runtime: Runtime, behaviour: Behaviour, hidden: tuple[Path, ...]
) -> Rendering:
    if not hidden:
        return _rendered(job, runtime, behaviour)
    filled = _replaced(job, dict.fromkeys(hidden, STAND_IN), ())
    wrong = [each.path for each in schema.schema_findings(filled, names.TRAIN_JOB)]
    left_out = {each for each in hidden if any(path[: len(each)] == each for path in wrong)}
    filled = _replaced(filled, dict.fromkeys(left_out, None), ())
    made = _rendered(filled, runtime, behaviour)
    objects = tuple(_marked(with_leaves(each, _found), left_out) for each in made.objects)
    unseen = tuple(sorted(left_out, key=str)) if made.problems else tuple(_unmarked(left_out))
    return Rendering(objects, made.problems, unseen)


def _rendered(job: JSONObject, runtime: Runtime, behaviour: Behaviour) -> Rendering:
    try:
        typed = manifests.stored_object(job)
        if not isinstance(typed, TrainJob):
            return Rendering()
    except InvalidInput as error:
        return Rendering(problems=error.problems)
    try:
        return Rendering(pipeline.render(typed, runtime, behaviour), fits_schema=True)
    except InvalidInput as error:
        return Rendering(problems=error.problems, fits_schema=True)


def _replaced(value: Any, others: Mapping[Path, Any], path: Path) -> Any:
    """A copy with other values at some paths; what is None there is left out."""
    if path in others:
        return others[path]
    if isinstance(value, Mapping):
        fields = {key: _replaced(each, others, (*path, key)) for key, each in value.items()}
        return {key: each for key, each in fields.items() if each is not None}
    if isinstance(value, list | tuple):
        items = [_replaced(each, others, (*path, index)) for index, each in enumerate(value)]
        return [each for each in items if each is not None]
    return value


def _found(leaf: Any) -> Any:
    """A value of what was rendered: unknown where it has a stand-in in it."""
    return UNKNOWN if isinstance(leaf, str) and STAND_IN in leaf else leaf


def _unmarked(left_out: Iterable[Path]) -> Iterator[Path]:
    for each in sorted(left_out, key=str):
        if each[:2] != _TRAINER or any(isinstance(key, int) for key in each):
            yield each


def _marked(value: JSONObject, left_out: Iterable[Path]) -> JSONObject:
    """The object with what the training nodes have from values that were left out unknown."""
    if value["kind"] != names.JOBSET:
        return value
    marked = value
    for index, job in enumerate(value["spec"]["replicatedJobs"]):
        for below in (below for each in left_out for below in _filled(job, each)):
            marked = with_value(marked, ("spec", "replicatedJobs", index, *below), UNKNOWN)
    return marked


def _filled(job: JSONObject, path: Path) -> Iterator[Path]:
    """Places in a replicated job that a value of the TrainJob fills."""
    trains = resolve.trains(job)
    is_ours = trains or job["name"] == names.NODE
    if not is_ours or path[:2] != _TRAINER or any(isinstance(key, int) for key in path):
        return
    if path[2:] in ((), ("numNodes",)):
        yield ("replicas",)
        yield "template", "spec", "parallelism"
    pod: Path = ("template", "spec", "template", "spec", "containers")
    for index, each in enumerate(resolve.pod_spec(job).get("containers") or ()):
        if each["name"] == names.NODE:
            keys = _FILLS if len(path) == len(_TRAINER) else (str(path[2]),)
            known = _FILLS if trains else _FILLS_NODE
            yield from ((*pod, index, known[key], *path[3:]) for key in keys if key in known)
