"""The runs of engine `controller`, as `cluster.run_lookup` asks for them. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from typing_extensions import override

from trainer_infra.cluster import ownership
from trainer_infra.cluster.controller import job_record, observed_run
from trainer_infra.cluster.run_record import Record
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import TRAIN_JOB, Resource
from trainer_infra.runs.run import Run
from trainer_infra.runs.view import Observation


class JobStore(RunStore):
    """TrainJobs that own their JobSets."""

    @property
    @override
    def kind(self) -> Resource:
        return TRAIN_JOB

    @property
    @override
    def jobsets(self) -> str:
        # The controller gives a JobSet no label of its TrainJob's.
        return ""

    @override
    def object_name(self, job: str) -> str:
        return job

    @override
    def uid_of(self, value: JSONObject) -> str:
        return job_record.uid_of(value)

    @override
    def read_record(self, value: JSONObject) -> Record | None:
        return job_record.read_record(value)

    @override
    def observation(
        self, record: Record, jobset: JSONObject | None, pods: Sequence[JSONObject]
    ) -> Observation:
        if jobset is None or not ownership.is_of(jobset, record.holder):
            return Observation(None, pods=tuple(pods) if jobset is None else ())
        return Observation(observed_run.queued_jobset(record.value, jobset), pods=tuple(pods))

    @override
    def current_run(self, record: Record, seen: Observation, host: str, now: datetime) -> Run:
        return observed_run.current_run(record, seen, host, now)

    @override
    def end_patch(self, record: Record, run: Run) -> JSONObject:
        return job_record.end_patch(record, run)


JOBS: Final = JobStore()
