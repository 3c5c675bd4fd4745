"""Where a TrainJob says what stands in the JobSet that it renders to, or that its runtime says it.

`subject` gives it to the values of a rendered JobSet, so that a finding points at the line that a
user has to change. What neither the TrainJob nor its patches mention is the runtime's: the path is
then that of the reference to it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.rules.value import UNKNOWN, Origin, is_list, is_mapping

_PATCHES: Final[Path] = ("spec", "runtimePatches")
INHERITED: Final = Origin(("spec", "runtimeRef", "name"), inherited=True)
_PATCH: Final = 5
"""Length of the path of a patch's JobSet template: and position, trainingRuntimeSpec, template."""
_JOB: Final = 3
"""Length of the path of a replicated job: spec, replicatedJobs, position."""
_POD: Final = 7
"""Length of the path of its PodSpec: and template, spec, template, spec."""
_CONTAINER: Final = 9
"""Length of the path of a container: and containers, position."""
TRAINER_FIELDS: Final = {
    "image": "image",
    "command": "command",
    "args": "args",
    "env": "env",
    "resources": "resourcesPerNode",
}
"""Fields of the container `node`, and those of `spec.trainer` that fill them."""
_COUNTS: Final = (("replicas",), ("template", "spec", "parallelism"))
"""Fields of a replicated job that `spec.trainer.numNodes` fills."""
_FILLED: Final = {(), ("envFrom",), *((each,) for each in TRAINER_FIELDS)}
"""Beginnings of paths in containers that anything of `spec.trainer` or an initializer may fill."""
_SHARED: Final = (("image",), ("env",), ("resources",))
"""Of these, what `spec.trainer` also fills in MPI's nodes, whose launcher has the trainer's label."""
_INITIALIZER: Final[Mapping[str, Path]] = {
    names.DATASET_INITIALIZER: ("spec", "initializer", "dataset"),
    names.MODEL_INITIALIZER: ("spec", "initializer", "model"),
}


def in_train_job(job: JSONObject, jobset: JSONObject, path: Path) -> Origin:
    """Where the TrainJob, of which values may be unknown, says what stands at a path of its JobSet."""
    for each in (*_patched(job, jobset, path), *_own(job, jobset, path)):
        place = _stands(job, each)
        # What is not known does not say what is known: that stands elsewhere.
        is_said = _at(job, place or ()) is not UNKNOWN or _at(jobset, path) in (None, UNKNOWN)
        if place is not None and is_said:
            return Origin(place)
    return INHERITED


def gaps(job: JSONObject, jobset: JSONObject, unseen: Iterable[Path]) -> Iterator[Path]:
    """Places of a JobSet that may be filled by patches of its TrainJob which are not known."""
    for path in unseen:
        if path[: len(_PATCHES)] == _PATCHES:
            start, rest = path[:_PATCH], path[_PATCH:]
            yield tuple(_same_keys(_at(job, start), jobset, rest))


def _same_keys(here: Any, there: Any, path: Path) -> Iterator[str | int]:
    """The keys by which `there` has what stands at the path of `here`, as far as it has it."""
    for key in path:
        here = _at(here, (key,))
        own = _position(there, {"name": _at(here, ("name",))}) if isinstance(key, int) else key
        if own == -1:
            return
        there = _at(there, (own,))
        yield own


def _stands(job: JSONObject, path: Path) -> Path | None:
    """The path where something stands there, or as far as it is known; None where nothing does."""
    for length in range(1, len(path) + 1):
        value = _at(job, path[:length])
        if value is None or value is UNKNOWN:
            return path[:length] if value is UNKNOWN else None
    return path


def _patched(job: JSONObject, jobset: JSONObject, path: Path) -> Iterator[Path]:
    """Places in the TrainJob's runtimePatches, that which was merged last first."""
    patches = _at(job, _PATCHES)
    if patches is UNKNOWN:
        yield _PATCHES
    for index in reversed(range(len(patches) if is_list(patches) else 0)):
        start: Path = (*_PATCHES, index, "trainingRuntimeSpec", "template")
        known = _stands(job, start)
        if known is not None:
            yield from _same_items(_at(job, known), jobset, known, path)


def _same_items(here: Any, there: Any, start: Path, path: Path) -> Iterator[Path]:
    """The path below `start` to what `path` names, where lists may have another order."""
    found = start
    for key in () if here is UNKNOWN else path:
        there = _at(there, (key,))
        own = _position(here, there) if isinstance(key, int) else key
        here = _at(here, (own,))
        if here is None:
            return
        found = (*found, own)
        if here is UNKNOWN:
            break
    yield found


def _position(items: Any, like: Any) -> int:
    """Where a list has the item of the same name; -1 where it has none."""
    name = _at(like, ("name",))
    for index, each in enumerate(items if is_list(items) else ()):
        if each == like or (name is not None and _at(each, ("name",)) == name):
            return index
    return -1


def _own(job: JSONObject, jobset: JSONObject, path: Path) -> Iterator[Path]:
    """Places in `metadata`, `spec.trainer` and `spec.initializer`."""
    if path[:1] == ("metadata",):
        yield path
    is_count, rest = path[_JOB:] in _COUNTS, path[_CONTAINER:]
    is_filled = path[_POD : _POD + 1] == ("containers",) and rest[:1] in _FILLED
    if not is_count and not is_filled:
        return
    step = _at(jobset, (*path[:_JOB], *resolve.ANCESTOR_PATH))
    container = _at(jobset, path[:_CONTAINER])
    if is_count and step not in _INITIALIZER:
        yield "spec", "trainer", "numNodes"
    if is_count:
        return
    if step in _INITIALIZER:
        yield from _of_initializer(job, container, _INITIALIZER[step], rest)
    elif _at(container, ("name",)) == names.NODE and (step == names.TRAINER or rest[:1] in _SHARED):
        yield from _of_trainer(job, container, rest)


def _of_trainer(job: JSONObject, container: Any, path: Path) -> Iterator[Path]:
    field = TRAINER_FIELDS.get(str(path[0])) if path else None
    if field is None:
        return
    start: Path = ("spec", "trainer", field)
    if field == "env":
        yield from _same_items(_at(job, start), _at(container, ("env",)), start, path[1:])
    else:
        yield (*start, *path[1:])


def _of_initializer(job: JSONObject, container: Any, start: Path, path: Path) -> Iterator[Path]:
    if path[:1] == ("envFrom",):
        yield (*start, "secretRef")
    if path[:1] == ("env",):
        if _at(container, (*path[:2], "name")) == names.STORAGE_URI:
            yield (*start, "storageUri")
        env: Path = (*start, "env")
        yield from _same_items(_at(job, env), _at(container, ("env",)), env, path[1:])


def _at(value: Any, path: Path) -> Any:
    """What stands at a path; None where nothing does."""
    for key in path:
        if isinstance(key, int):
            value = value[key] if is_list(value) and 0 <= key < len(value) else None
        else:
            value = value.get(key) if is_mapping(value) else None
    return value
