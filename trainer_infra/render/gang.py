"""Which pods of a TrainJob are scheduled all at once, and the PodGroup that says so.

Pure; for the plugins coscheduling, volcano, kai, yunikorn and kueue, which add what their
scheduler reads. Rules: reference behaviour 3.8 and 3.9.

The reference counts every pod, also of jobs that start only after others (Q15): such a group never
fills. Here a job that another one waits for to complete is outside, with everything before it; a
job that waits for one of the gang to be ready joins without counting, but room for it is asked for from
the beginning.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render import child_metadata, resolve, resources
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft, PodSet
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Watch

READY: Final = "Ready"
COMPLETE: Final = "Complete"


def members(draft: Draft) -> tuple[PodSet, ...]:
    """The pod sets that carry the gang's mark, in template order."""
    if not draft.ours(Deviation.Q15):
        return draft.pod_sets
    before = jobs_outside(waits_of(draft.spec))
    return tuple(each for each in draft.pod_sets if each.name not in before)


def counted_members(draft: Draft) -> tuple[PodSet, ...]:
    """The pod sets whose pods must all find a place: those members that wait for no member."""
    inside = members(draft)
    if not draft.ours(Deviation.Q15):
        return inside
    waiting, known = waits_of(draft.spec), {each.name for each in inside}
    return tuple(each for each in inside if known.isdisjoint(waiting[each.name]))


def jobs_outside(waiting: Mapping[str, Mapping[str, str]]) -> set[str]:
    """The jobs that have ended before the others begin, of what each waits for as `waits_of` has it."""
    found: set[str] = set()
    left = [name for each in waiting.values() for name, state in each.items() if state == COMPLETE]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(waiting.get(name, ()))
    return found


def waits_of(spec: JSONObject) -> dict[str, dict[str, str]]:
    """For each replicated job of a JobSet's spec those that it waits for: `Ready` or `Complete` by job name.

    `startupPolicy: InOrder` makes each job wait for the one before it to be ready.
    """
    jobs = spec["replicatedJobs"]
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    result: dict[str, dict[str, str]] = {}
    before: dict[str, str] = {}
    for job in jobs:
        depends = {each["name"]: each.get("status", "") for each in job.get("dependsOn") or ()}
        result[job["name"]] = {**(before if in_order else {}), **depends}
        before = {job["name"]: READY}
    return result


def with_mark(
    draft: Draft,
    marked: Iterable[PodSet],
    *,
    labels: JSONObject | None = None,
    annotations: JSONObject | None = None,
) -> Draft:
    """A copy in which the pods of these pod sets carry the labels and annotations."""
    inside = {each.name for each in marked}
    pod_sets = (
        replace(
            each,
            labels={**each.labels, **(labels or {})},
            annotations={**each.annotations, **(annotations or {})},
        )
        if each.name in inside
        else each
        for each in draft.pod_sets
    )
    return replace(draft, pod_sets=tuple(pod_sets))


def pod_group(draft: Draft, api_version: str, spec: JSONObject) -> JSONObject:
    """The PodGroup named as the TrainJob: member count, resources and the scheduler's own `spec`."""
    # At least 1: an API server refuses the PodGroup of a TrainJob without nodes otherwise (Q21).
    total = sum(each.count for each in counted_members(draft))
    return {
        "apiVersion": api_version,
        "kind": names.POD_GROUP,
        "metadata": child_metadata.metadata_of_child(draft.job, ""),
        "spec": {
            "minMember": max(1, total) if draft.ours(Deviation.Q21) else total,
            "minResources": _min_resources(draft),
            **spec,
        },
    }


def should_write(pod_group: JSONObject, job: TrainJob, observed: ObservedObjects) -> bool:
    """A PodGroup is left alone once it is there, unless the TrainJob is suspended."""
    return bool(job.spec.suspend) or not any(
        each["kind"] == names.POD_GROUP and each["apiVersion"] == pod_group["apiVersion"]
        for each in observed.objects
        if each["metadata"]["name"] == pod_group["metadata"]["name"]
    )


def watches(api_version: str) -> tuple[Watch, ...]:
    """The scheduler's PodGroups, and what changes the resources of pods that do not exist yet."""
    return (
        Watch(api_version, names.POD_GROUP),
        Watch("v1", "LimitRange", wakes=_in_namespace),
        Watch("node.k8s.io/v1", "RuntimeClass", wakes=_uses_runtime_class),
    )


def _in_namespace(limit_range: JSONObject, job: TrainJob, _runtime: Runtime) -> bool:
    same = limit_range["metadata"].get("namespace") == job.metadata.namespace
    return bool(job.spec.suspend) and same


def _uses_runtime_class(runtime_class: JSONObject, job: TrainJob, runtime: Runtime) -> bool:
    jobs = resolve.jobset_spec(runtime).get("replicatedJobs") or ()
    used = {resolve.pod_spec(each).get("runtimeClassName") for each in jobs}
    return bool(job.spec.suspend) and runtime_class["metadata"]["name"] in used


def _min_resources(draft: Draft) -> JSONObject:
    # Of all members: nodes whose launcher finds no place would hold theirs for nothing.
    total: resources.Amounts = {}
    inside = {each.name for each in members(draft)}
    for template, pod_set in zip(draft.spec["replicatedJobs"], draft.pod_sets, strict=True):
        if pod_set.name in inside:
            own = resources.requests_of_pod(resolve.pod_spec(template))
            more = {name: each.times(pod_set.count) for name, each in own.items()}
            resources.add_amounts(total, more)
    return {name: str(each) for name, each in total.items()}
