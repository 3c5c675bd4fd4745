"""The specs of batch/v1 Jobs that an object asks for, for the rules of Jobs.

What JobSet fills in where nothing is written: v0.12's webhook. What the trainer fills in of a
runtime: reference behaviour 3.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render import resolve
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Subject, Value

_JOB: Final = "Job"
_CRON_JOB: Final = "CronJob"
KINDS: Final = names.WITH_PODS | {_JOB, _CRON_JOB}
"""Kinds that have Jobs."""
_GROUP: Final = "batch/"
_INDEXED: Final = "Indexed"


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The spec of one Job."""

    spec: Value
    """The JobSpec."""
    of_jobset: bool = False
    """Whether JobSet makes the Job."""
    is_filled: bool = False
    """Whether the trainer fills in how many pods it has."""

    @property
    def pod_spec(self) -> Value:
        """The PodSpec."""
        return self.spec.at("template", "spec")

    @property
    def is_indexed(self) -> bool:
        """Whether its pods have indexes, which those of JobSet have unless it says otherwise.

        Raises:
            UnseenValue: It is not known.
        """
        mode = self.spec["completionMode"].text()
        return mode == _INDEXED or (self.of_jobset and not mode)


def job_specs(subject: Subject) -> tuple[JobSpec, ...]:
    """The specs of its Jobs."""
    return subject.once(_job_specs)


def _job_specs(subject: Subject) -> Iterator[JobSpec]:
    of_runtime = subject.kind in names.RUNTIMES
    for jobset in pods.jobsets(subject):
        for job in jobset["replicatedJobs"].items():
            is_step = of_runtime and job.at(*resolve.ANCESTOR_PATH).is_there()
            yield JobSpec(job.at("template", "spec"), of_jobset=True, is_filled=is_step)
    if subject.api_version.startswith(_GROUP):
        if subject.kind == _JOB:
            yield JobSpec(subject.object["spec"])
        elif subject.kind == _CRON_JOB:
            yield JobSpec(subject.object.at("spec", "jobTemplate", "spec"))
