"""Overrides of Trainer 2.0 and 2.1 as the runtimePatches of 2.2, so that rules judge what they say.

Source: reference behaviour 1.6: `podSpecOverrides` became `podTemplateOverrides` in 2.1, and these,
`spec.labels` and `spec.annotations` became `runtimePatches` in 2.2.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.rules.value import is_list, is_mapping

_PATCHES: Final = "runtimePatches"
_LIST: Final[Path] = ("spec", _PATCHES)
_OF_JOBSET: Final = ("labels", "annotations")
_OVERRIDES: Final[Mapping[str, Path]] = {"podSpecOverrides": ("spec",), "podTemplateOverrides": ()}
"""Fields of a TrainJob's spec, and where in a pod template what they say is."""
_JOBSET: Final[Path] = ("trainingRuntimeSpec", "template")
_JOBS: Final[Path] = (*_JOBSET, "spec", "replicatedJobs")
_POD: Final[Path] = ("template", "spec", "template")
"""From a replicated job to its pod template."""
_TARGETS: Final = "targetJobs"


def with_patches(job: JSONObject) -> JSONObject:
    """The TrainJob as 2.2 and newer have it; itself where it has nothing older."""
    spec: Any = job.get("spec")
    made = [patch for patch, *_ in _made(spec)] if is_mapping(spec) else []
    if not made:
        return job
    own = spec.get(_PATCHES)
    others = {key: each for key, each in spec.items() if key not in {*_OVERRIDES, *_OF_JOBSET}}
    return {**job, "spec": {**others, _PATCHES: [*(own if is_list(own) else ()), *made]}}


def written_path(job: JSONObject, path: Path) -> Path:
    """Where the TrainJob as it was written has what stands at a path of `with_patches`."""
    spec: Any = job.get("spec")
    if path[:2] != _LIST or len(path) == len(_LIST) or not is_mapping(spec):
        return path
    own, position = spec.get(_PATCHES), path[2]
    made = [(place, skipped) for _, place, skipped in _made(spec)]
    index = -1 if not isinstance(position, int) else position - (len(own) if is_list(own) else 0)
    if not 0 <= index < len(made):
        return path
    place, skipped = made[index]
    return (*place, *path[len(_LIST) + 1 + skipped :])


def _made(spec: Any) -> Iterator[tuple[JSONDict, Path, int]]:
    """Each patch, what it is made of, and how many keys of the patch lead to that."""
    for key in _OF_JOBSET:
        if is_mapping(spec.get(key)):
            patch = _patch({"metadata": {key: spec[key]}}, key)
            yield patch, ("spec", key), len(_JOBSET) + len(("metadata", key))
    for key, at in _OVERRIDES.items():
        overrides = spec.get(key)
        for index, each in enumerate(overrides if is_list(overrides) else ()):
            if is_mapping(each):
                patch = _patch(_of_jobs(each, at), f"{key}-{index}")
                yield patch, ("spec", key, index), len((*_JOBS, 0, *_POD, *at))


def _patch(template: JSONDict, name: str) -> JSONDict:
    manager = f"overrides.trainer-infra.dev/{name.lower()}"
    return {"manager": manager, "trainingRuntimeSpec": {"template": template}}


def _of_jobs(override: Mapping[str, Any], at: Path) -> JSONDict:
    targets: Any = override.get(_TARGETS)
    named = [each.get("name") for each in targets if is_mapping(each)] if is_list(targets) else []
    template: Any = {key: each for key, each in override.items() if key != _TARGETS}
    for key in at:
        template = {key: template}
    jobs = [{"name": name, "template": {"spec": {"template": template}}} for name in named]
    return {"spec": {"replicatedJobs": jobs}}
