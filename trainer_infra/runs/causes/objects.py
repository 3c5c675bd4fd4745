"""Which objects have to be asked for their events, of a run that does not go on. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes import containers, schedule, steps

About = tuple[str, str]
"""Kind and name of an object."""

MOST: Final = 3
"""Objects of a kind that are asked for at most, of one run."""


def silent_objects(jobset: JSONObject, pods: Sequence[JSONObject]) -> tuple[About, ...]:
    """Objects whose events say why pods are missing or do not start; none where all run."""
    if (jobset.get("spec") or {}).get("suspend"):
        return ()
    starting = [("Pod", each["metadata"]["name"]) for each in pods if containers.is_starting(each)]
    unbound = [
        ("PersistentVolumeClaim", name) for each in pods for name in schedule.unbound_claims(each)
    ]
    return (*_makers(jobset, pods), *starting[:MOST], *dict.fromkeys(unbound[:MOST]))


def _makers(jobset: JSONObject, pods: Sequence[JSONObject]) -> Iterator[About]:
    """The JobSet and the Jobs that have not made all their pods."""
    lacking = steps.lacking_steps(jobset, pods)
    if not lacking:
        return
    yield names.JOBSET, jobset["metadata"]["name"]
    full = {_job(jobset, each) for each in pods if pod_facts.phase_of(each) != "Failed"}
    every = [job for step in lacking for job in steps.job_names(jobset, step)]
    # A Job with some of its pods may lack others; one without any surely does.
    yield from (("Job", each) for each in sorted(every, key=lambda job: job in full)[:MOST])


def _job(jobset: JSONObject, pod: JSONObject) -> str:
    """The Job of a pod."""
    index = (pod["metadata"].get("labels") or {}).get(names.JOB_INDEX_LABEL, "0")
    return f"{jobset['metadata']['name']}-{pod_facts.step_of(pod)}-{index}"
