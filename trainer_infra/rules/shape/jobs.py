"""The replicated jobs of a runtime or JobSet, as the rules of this group read them."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.render import resolve
from trainer_infra.rules.value import Value

IN_RUNTIME: Final[Path] = ("spec", "template", "spec", "replicatedJobs")
REFUSED_BY_JOBSET: Final = (
    "JobSet rejects the JobSet. The TrainJob was already admitted, so it waits forever, and an "
    "event is the only sign."
)
"""Why the rules of JobSet's webhook matter."""


def step_label(job: Value) -> Value:
    """The label that says which step of a TrainJob a replicated job is."""
    return job.at(*resolve.ANCESTOR_PATH)


def pod_spec(job: Value) -> Value:
    """The PodSpec of a replicated job."""
    return job.at("template", "spec", "template", "spec")


def name_one(items: Value) -> str:
    """Advice where a name is not one of the jobs'."""
    known = [each["name"].text() for each in items.items()]
    return f"name {' or '.join(known[:3])}" if known else "add the job"


def needed(jobset: Value) -> Iterator[str]:
    """Names of the jobs for whose end another one waits."""
    for job in jobset["replicatedJobs"].items():
        for each in job["dependsOn"].items():
            if each["status"].text() == names.COMPLETE:
                yield each["name"].text()
