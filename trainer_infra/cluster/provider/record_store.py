"""The run records of engine `provider`, as `cluster.run_lookup` asks for them. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import ownership
from trainer_infra.cluster.provider import observed_run
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.run_record import Record
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import CONFIG_MAP, Resource
from trainer_infra.runs.run import Run
from trainer_infra.runs.view import Observation


class RecordStore(RunStore):
    """Records in ConfigMaps, which own the JobSets."""

    @property
    @override
    def kind(self) -> Resource:
        return CONFIG_MAP

    @property
    @override
    def jobsets(self) -> str:
        return names.RUN_LABEL

    @override
    def object_name(self, job: str) -> str:
        return run_record.name_of(job)

    @override
    def uid_of(self, value: JSONObject) -> str:
        return str(value["metadata"]["uid"])

    @override
    def read_record(self, value: JSONObject) -> Record | None:
        return run_record.read_record(value)

    @override
    def observation(
        self, record: Record, jobset: JSONObject | None, pods: Sequence[JSONObject]
    ) -> Observation:
        is_its = jobset is not None and ownership.is_of(jobset, record.uid)
        return Observation(jobset if is_its else None, pods=tuple(pods))

    @override
    def current_run(self, record: Record, seen: Observation, host: str, now: datetime) -> Run:
        return observed_run.current_run(record, seen, host, now)

    @override
    def end_patch(self, record: Record, run: Run) -> JSONObject:
        return run_record.end_patch(record, run)


RECORDS: Final = RecordStore()
