"""Replicated jobs that lack pods: refused, waiting for an earlier step, or made by no controller."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions as status_conditions
from trainer_infra.lifecycle import failure_reason
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes.surroundings import Surroundings, began_at, time_of
from trainer_infra.runs.waiting_cause import Cause, Waiting

JOB: Final = "JobCreationFailed"
POD: Final = "FailedCreate"
REASONS: Final[Mapping[str, str]] = {
    JOB: "Jobs of {step}",
    "HeadlessServiceCreationFailed": "the Service of its JobSet",
    "PVCCreationFailed": "claims of its JobSet",
    POD: "pods of {step}",
}
"""Reasons of events that say so, with what it is that cannot be made."""
CAUSES: Final = (
    ("exceeded quota", Cause.QUOTA_USED_UP),
    ("failed quota", Cause.QUOTA_UNANSWERED),
    ("error looking up service account", Cause.SERVICE_ACCOUNT_MISSING),
    ("no PriorityClass with name", Cause.PRIORITY_CLASS_MISSING),
    ('RuntimeClass "[^"]*" not found', Cause.RUNTIME_CLASS_MISSING),
    ("violates PodSecurity", Cause.POD_SECURITY),
    ("(?:maximum|minimum) .* usage per|limit to request ratio per", Cause.LIMIT_RANGE),
    ("expected, transient error", Cause.EARLIER_STEP),
    ("already exists", Cause.NAME_TAKEN),
    ("failed calling webhook|[Ii]nternal error occurred", Cause.WEBHOOK_UNAVAILABLE),
    ("denied the request|denied request", Cause.POLICY),
    ("is invalid:", Cause.INVALID),
)
"""What tells in the API server's sentence what refused; the first that is there."""
_HEADS: Final = (
    re.compile(r'job "[^"]*" creation failed with error: '),
    re.compile(r"Error creating: "),
)
"""What a controller writes before the API server's sentence."""

# `exceeded quota: q, requested: pods=1,requests.cpu=2, used: pods=1,…, limited: pods=1,…`
_EXCEEDED: Final = re.compile(
    r"exceeded quota: \S+, requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a step needs at the same time."""

    step: str
    jobs: int
    pods: int


def waiting_steps(
    jobset: JSONObject, pods: Sequence[JSONObject], around: Surroundings
) -> Iterator[Waiting]:
    """What each step that lacks pods waits for."""
    for step in lacking_steps(jobset, pods):
        mine = [each for each in pods if pod_facts.step_of(each) == step["name"]]
        if found := _of_step(jobset, step, mine, around):
            yield found


def lacking_steps(jobset: JSONObject, pods: Sequence[JSONObject]) -> tuple[JSONObject, ...]:
    """Replicated jobs that have fewer pods than they will, in the JobSet's order."""
    listed = (jobset.get("spec") or {}).get("replicatedJobs") or ()
    return tuple(each for each in listed if _lacks(jobset, each, pods))


def held_step(jobset: JSONObject, pods: Sequence[JSONObject]) -> str:
    """Which replicated job waits for an earlier one, as a clause; empty when none does."""
    steps = ((each["name"], _earlier(jobset, each)) for each in lacking_steps(jobset, pods))
    return next((f"{name} waits for {before}" for name, before in steps if before), "")


def is_empty(jobset: JSONObject, pods: Sequence[JSONObject]) -> bool:
    """Whether a replicated job that lacks pods has none at all, though its JobSet was looked at."""
    begun = {pod_facts.step_of(each) for each in pods}
    lacks = any(each["name"] not in begun for each in lacking_steps(jobset, pods))
    return lacks and bool(jobset.get("status"))


def job_names(jobset: JSONObject, step: JSONObject) -> tuple[str, ...]:
    """Names of the Jobs of a replicated job."""
    head = f"{jobset['metadata']['name']}-{step['name']}"
    return tuple(f"{head}-{index}" for index in range(_replicas(step)))


def _lacks(jobset: JSONObject, step: JSONObject, pods: Sequence[JSONObject]) -> bool:
    status = _status(jobset, step)
    if status.get("succeeded", 0) >= _replicas(step) > 0:
        return False
    alive = sum(
        pod_facts.step_of(each) == step["name"] and pod_facts.phase_of(each) != "Failed"
        for each in pods
    )
    return bool(alive < _pods(step))


def _of_step(
    jobset: JSONObject, step: JSONObject, pods: Sequence[JSONObject], around: Surroundings
) -> Waiting | None:
    name = step["name"]
    # The newest refusal of what the step lacks.
    own = set(job_names(jobset, step))
    mine = (each for each in around.events if _is_about(jobset, own, each))
    refused = max(mine, key=time_of, default=None)
    if refused and time_of(refused)[:19] >= _newest(pods):
        return waiting_after_refusal(refused, Needs(name, _replicas(step), _pods(step)))
    if before := _earlier(jobset, step):
        return Waiting(Cause.EARLIER_STEP, f"{name} waits for {before}")
    if failed := failure_reason.first_failure(
        each for each in pods if pod_facts.phase_of(each) == "Failed"
    ):
        return Waiting(Cause.NEXT_POD, f"the next pod of {name} after {failed.sentence()}")
    return None if pods else _without_pods(jobset, name, around.jobs)


def _without_pods(jobset: JSONObject, step: str, found: Sequence[JSONObject] | None) -> Waiting:
    """Nothing is said of a step without pods: whose turn it is to make them."""
    sentence = f"pods of {step} are being made"
    if not (jobset.get("status") or {}):
        since = jobset["metadata"].get("creationTimestamp") or ""
        manager = jobset["spec"].get("managedBy") or "JobSet's controller"
        verdict = f"{manager} has done nothing with its JobSet since {since}; see whether it runs"
        return Waiting(Cause.JOBSET_CONTROLLER_SILENT, sentence, since, verdict)
    if found is None:
        return Waiting(Cause.STARTING, sentence)
    mine = [
        each
        for each in found
        if str((each["metadata"].get("labels") or {}).get(names.REPLICATED_JOB_LABEL, "")) == step
    ]
    if not mine:
        return Waiting(Cause.JOBSET_CONTROLLER_SILENT, f"Jobs of {step} are being made")
    job = next((each for each in mine if not (each.get("status") or {}).get("startTime")), None)
    if job is None:
        # It makes a pod anew after 10 s, and twice as long each time.
        return Waiting(Cause.NEXT_POD, f"the next pod of {step}, which its Job makes after a while")
    since = job["metadata"].get("creationTimestamp") or ""
    verdict = (
        f"the Job controller has done nothing with Job {job['metadata']['name']} since {since}; see "
        "whether kube-controller-manager runs"
    )
    return Waiting(Cause.JOB_CONTROLLER_SILENT, sentence, since, verdict)


def _newest(pods: Sequence[JSONObject]) -> str:
    """When the last of the pods was made."""
    return max((each["metadata"].get("creationTimestamp") or "" for each in pods), default="")[:19]


def _is_about(jobset: JSONObject, own: set[str], event: JSONObject) -> bool:
    about, reason = event["involvedObject"], event["reason"]
    if about.get("kind") == "Job":
        return about.get("name") in own and reason == POD
    if about.get("kind") != names.JOBSET or reason not in REASONS:
        return False
    if about.get("name") != jobset["metadata"]["name"]:
        return False
    # An earlier JobSet may have had the same name, and one refusal names its Job.
    uid = about.get("uid") or jobset["metadata"].get("uid")
    others = reason == JOB and not any(f'"{each}"' in event["message"] for each in own)
    return bool(uid == jobset["metadata"].get("uid")) and not others


def _earlier(jobset: JSONObject, step: JSONObject) -> str:
    """What the step waits for by the JobSet's own rules; empty when it does not."""
    conditions = (jobset.get("status") or {}).get("conditions") or ()
    if before := [each["name"] for each in step.get("dependsOn") or () if _waits(jobset, each)]:
        return ", ".join(before)
    if not status_conditions.is_true(conditions, names.JOBSET_STARTUP_IN_PROGRESS):
        return ""
    listed = [each["name"] for each in jobset["spec"]["replicatedJobs"]]
    return ", ".join(listed[: listed.index(step["name"])])


def _waits(jobset: JSONObject, dependency: JSONObject) -> bool:
    """Whether a step that another one depends on is not that far."""
    listed = jobset["spec"]["replicatedJobs"]
    other = next((each for each in listed if each["name"] == dependency["name"]), None)
    if other is None:
        return True
    status = _status(jobset, other)
    done = status.get("succeeded", 0)
    if dependency.get("status") == "Ready":
        done += status.get("ready", 0)
    return bool(done < _replicas(other))


def _status(jobset: JSONObject, step: JSONObject) -> JSONObject:
    listed = (jobset.get("status") or {}).get("replicatedJobsStatus") or ()
    return next((each for each in listed if each["name"] == step["name"]), {})


def _replicas(step: JSONObject) -> int:
    found = step.get("replicas")
    return 1 if found is None else int(found)


def _pods(step: JSONObject) -> int:
    spec = (step.get("template") or {}).get("spec") or {}
    found = spec.get("parallelism")
    return _replicas(step) * (1 if found is None else int(found))


def waiting_after_refusal(event: JSONObject, needs: Needs) -> Waiting:
    """What a run waits for after the API server refused a controller an object: the event, and what of it is the cause.

    JobSet says so of Jobs, of its Service and of claims, the Job controller of pods; both try again.
    """
    said = str(event["message"])
    for each in _HEADS:
        said = each.sub("", said)
    cause = next((kind for text, kind in CAUSES if re.search(text, said)), Cause.NOT_CREATED)
    count = needs.pods if event["reason"] == POD else needs.jobs
    if cause is Cause.QUOTA_USED_UP and is_too_small(said, count):
        cause = Cause.QUOTA_TOO_SMALL
        said += f" (the run needs {count} at a time)" if count > 1 else ""
    what = REASONS[event["reason"]].format(step=needs.step)
    return Waiting(cause, f"{what} cannot be made: {said}", began_at(event))


def is_too_small(said: str, count: int) -> bool:
    """Whether a quota has no place for so many such objects even when nothing else uses it.

    The sentence is the API server's about one of them.
    """
    found = _EXCEEDED.search(said)
    if found is None:
        return False
    requested, limited = _amounts(found["requested"]), _amounts(found["limited"])
    return any(
        requested[name] * count > limited[name] for name in requested.keys() & limited.keys()
    )


def _amounts(text: str) -> dict[str, Decimal]:
    pairs = (each.partition("=") for each in text.split(","))
    return {name: quantity.parse_quantity(amount) for name, _, amount in pairs if amount}
