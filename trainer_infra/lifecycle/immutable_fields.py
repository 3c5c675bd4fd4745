"""What an update of a TrainJob may not change: spec fields, and patches at the wrong time.

The published schema's rules come first (api/transitions.py); they let an optional field be added or
removed (Q12). Rules: reference behaviour 1.6, 5.1.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import transitions
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import RuntimePatch, TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.observed_objects import ObservedObjects

OPTIONAL: Final = ("initializer", "trainer", "activeDeadlineSeconds")
"""Immutable fields of the spec that may be absent."""
_PATCHES: Final = "spec.runtimePatches"
_POD_FIELDS: Final = ("nodeSelector", "tolerations", "schedulingGates")
_POD_METADATA: Final = ("annotations", "labels")
"""What JobSet takes in the pods of a JobSet that is or gets suspended: reference behaviour 4.9."""


def of_spec(old: TrainJob, new: TrainJob) -> Iterable[Problem]:
    """Immutable fields that differ."""
    found = transitions.transition_findings(old.to_wire(), new.to_wire(), names.TRAIN_JOB)
    return (each.problem("") for each in found)


def of_presence(old: TrainJob, new: TrainJob) -> Iterable[Problem]:
    """Immutable fields that were added or removed (Q12)."""
    before, after = old.to_wire()["spec"], new.to_wire()["spec"]
    for field in OPTIONAL:
        if (field in before) != (field in after):
            did = "added to" if field in after else "removed from"
            yield Problem(
                f"spec.{field}",
                "field is immutable",
                got=after.get(field),
                fix=f"it was {did} a TrainJob that exists; make another TrainJob",
            )


def of_patches(old: TrainJob, new: TrainJob, observed: ObservedObjects) -> Iterable[Problem]:
    """Patches that change while pods may run; messages of reference behaviour 5.1."""
    if not patches_differ(old, new):
        return
    if not (old.spec.suspend or new.spec.suspend):
        yield Problem(
            _PATCHES,
            "RuntimePatches can only be modified when the TrainJob is suspended before or after "
            "the update",
            forbidden=True,
        )
        return
    for each in ((observed.jobset or {}).get("status") or {}).get("replicatedJobsStatus") or ():
        if each.get("active", 0) > 0:
            yield Problem(
                _PATCHES,
                "RuntimePatches cannot be modified when the JobSet's ReplicatedJob "
                f"{each['name']} is still active",
                forbidden=True,
            )


def refused_by_jobset(
    old: TrainJob, new: TrainJob, observed: ObservedObjects, runtime: Runtime, behaviour: Behaviour
) -> Iterable[Problem]:
    """Fields of the pods that new patches change and JobSet, where there is one, refuses on every pass (Q8)."""
    if observed.jobset is None or not patches_differ(old, new):
        return
    try:
        before, after = (_jobs(each, runtime, behaviour) for each in (old, new))
    except InvalidInput:
        return
    for name, job in after.items():
        for path in _differing(_masked(before.get(name, {})), _masked(job), ""):
            yield Problem(
                _PATCHES,
                f"changes replicatedJobs[{name}]{path} of a JobSet that exists, which JobSet "
                "refuses: field is immutable",
                fix="change only labels, annotations, nodeSelector, tolerations and "
                "schedulingGates of pods, or make another TrainJob",
            )


def patches_differ(old: TrainJob, new: TrainJob) -> bool:
    """Whether the patches differ in anything but the time at which they were made."""
    before, after = (
        [comparable_fields(patch) for patch in each.spec.runtime_patches or ()]
        for each in (old, new)
    )
    return before != after


def comparable_fields(patch: RuntimePatch) -> Any:
    """A patch without its time; to Kubernetes an empty list is the same as none."""
    return _without_empty_lists({k: v for k, v in patch.to_wire().items() if k != "time"})


def _without_empty_lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {key: item for key, item in value.items() if item not in (None, [])}
        return {key: _without_empty_lists(item) for key, item in kept.items()}
    return [_without_empty_lists(item) for item in value] if isinstance(value, list) else value


def _jobs(job: TrainJob, runtime: Runtime, behaviour: Behaviour) -> dict[str, JSONObject]:
    """The replicated jobs of the JobSet that the TrainJob becomes, by name."""
    rendered = pipeline.render(job, runtime, behaviour)
    jobset = next(each for each in rendered if each["kind"] == names.JOBSET)
    return {each["name"]: each for each in jobset["spec"]["replicatedJobs"]}


def _masked(job: JSONObject) -> JSONObject:
    """The replicated job without what JobSet lets a suspended JobSet change."""
    template = job.get("template") or {}
    job_spec = template.get("spec") or {}
    pod = job_spec.get("template") or {}
    metadata = {k: v for k, v in (pod.get("metadata") or {}).items() if k not in _POD_METADATA}
    spec = {k: v for k, v in (pod.get("spec") or {}).items() if k not in _POD_FIELDS}
    masked = {**pod, "metadata": metadata, "spec": spec}
    return {**job, "template": {**template, "spec": {**job_spec, "template": masked}}}


def _differing(old: object, new: object, path: str) -> Iterable[str]:
    """Paths of the fields that differ; a list is one field, unless its items have names."""
    before, after = _by_name(old), _by_name(new)
    if before is not None and after is not None:
        for name in {**before, **after}:
            yield from _differing(before.get(name), after.get(name), f"{path}[{name}]")
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {**old, **new}:
            yield from _differing(old.get(key), new.get(key), f"{path}.{key}")
    elif old != new:
        yield path


def _by_name(value: object) -> dict[str, object] | None:
    """The items of a list by their names; None when that is not what it is."""
    if not isinstance(value, list):
        return None
    found: dict[str, object] = {
        item["name"]: item for item in value if isinstance(item, Mapping) and "name" in item
    }
    return found if len(found) == len(value) else None
