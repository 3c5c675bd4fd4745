"""Where an engine keeps what it knows of its runs: the protocol by which runs are found.

Engine `provider` keeps records in ConfigMaps (`provider.record_store`), engine `controller` on the
TrainJobs that it stores (`controller.job_store`). Pure: the objects are read elsewhere.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from trainer_infra.cluster.run_record import Record
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import Resource
from trainer_infra.runs.run import Run
from trainer_infra.runs.view import Observation


class RunStore(Protocol):
    """How runs are kept."""

    @property
    def kind(self) -> Resource:
        """Of the objects that keep them; those of runs have the label `names.RECORD_LABEL`."""

    @property
    def jobsets(self) -> str:
        """Label selector of the runs' JobSets."""

    def object_name(self, job: str) -> str:
        """The name of the object that keeps a run, of its TrainJob's."""

    def uid_of(self, value: JSONObject) -> str:
        """The UID of the run that an object keeps, readable or not."""

    def read_record(self, value: JSONObject) -> Record | None:
        """The record in an object; None when the object keeps no run of this engine.

        Raises:
            Unreadable: It should, and cannot be read.
        """

    def observation(
        self, record: Record, jobset: JSONObject | None, pods: Sequence[JSONObject]
    ) -> Observation:
        """What is seen of a run; of a JobSet that has its name and is not its own, nothing."""

    def current_run(self, record: Record, seen: Observation, host: str, now: datetime) -> Run:
        """The run as it is now, by what is seen of it.

        Raises:
            Unreadable: What the record has is no TrainJob.
        """

    def end_patch(self, record: Record, run: Run) -> JSONObject:
        """The patch that keeps a run as it ended."""
