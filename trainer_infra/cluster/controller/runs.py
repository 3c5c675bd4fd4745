"""Runs in a cluster: the facade of engine `controller`.

A run is a TrainJob, which Kubeflow Trainer's controller drives (`job_record`); each verb has a file of
its own.
"""

from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import (
    drift,
    refusal_explanation,
    rights,
    run_lookup,
    served_kinds,
)
from trainer_infra.cluster.controller import (
    adopt,
    behaviour,
    contents,
    delete,
    job_record,
    observed_run,
    retry,
    submit,
    suspend,
    unfilled_gang,
    unsupported_fields,
)
from trainer_infra.cluster.controller.job_store import JOBS
from trainer_infra.cluster.rights import Right
from trainer_infra.cluster.run_record import Record
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.cluster.served_kinds import ServedKinds
from trainer_infra.cluster.session import Session
from trainer_infra.errors import Problem, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer, NotFound, NotServed
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs.run import Listing, Owner, Run, RunKey, Submission
from trainer_infra.runs.view import Observation


class ControlledCluster(ClusterRuns):
    """Runs in the cluster of a kubeconfig's context, where Kubeflow Trainer's controller runs."""

    store: ClassVar[RunStore] = JOBS
    change: ClassVar[tuple[Right, ...]] = rights.CHANGE_TRAIN_JOB

    @override
    def controller(self) -> str:
        return self.served().controller or names.BUILTIN

    @override
    def problems(
        self,
        job: JSONObject,
        objects: tuple[JSONObject, ...],
        controller: str = "",
    ) -> tuple[Problem, ...]:
        return unsupported_fields.unsupported_fields(job, objects, controller)

    @override
    def behaviour(
        self, plugins: tuple[Plugin, ...], owner: Owner, controller: str = ""
    ) -> Behaviour:
        """What renders the objects as the controller makes them; makes no request."""
        return behaviour.controller_behaviour(plugins, owner, controller)

    @override
    def remark(self, found: ServedKinds) -> str:
        return served_kinds.of_engine_controller(found)

    @override
    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        return (*super().warnings(objects), *unfilled_gang.unfilled_gangs(objects))

    @override
    async def repair_holder(self, session: Session, record: Record) -> None:
        if drift.drifted_fields(record.objects[-1], record.value):
            patch = job_record.whole_patch(record)
            try:
                await session.client.apply(patch, manager=names.FIELD_MANAGER, force=True)
            except Answer as error:
                raise refusal_explanation.explain_refusal(error, patch) from error

    @override
    def list_runs(self, namespace: str | None = None) -> Listing:
        try:
            return super().list_runs(namespace)
        except (NotServed, NotFound):
            # A cluster without TrainJobs has none of these runs.
            return Listing()

    @override
    def collect_unowned(self, namespace: str) -> tuple[str, ...]:
        now = datetime.now(UTC)
        try:
            return self._change(
                lambda session: contents.collect_unowned(session.client, namespace, now)
            )
        except NotServed:
            return ()

    @override
    async def submit_run(
        self, session: Session, submission: Submission, take_over: bool, within: float
    ) -> Run:
        metadata = submission.job["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        stored = behaviour.written_objects(submission.objects, name)
        wanted = await rights.to_submit(session.client, stored)
        await session.rights.require(namespace, wanted, f"submit run {namespace}/{name}")
        record = await submit.submit_run(
            session.client, submission, take_over=take_over, within=within
        )
        with suppress(TrainerInfraError):
            # What others left is no concern of this run.
            await contents.collect_unowned(session.client, namespace, datetime.now(UTC))
        session.cache.forget()
        run = await run_lookup.at_one(session, namespace, name)
        if run is None:
            return observed_run.current_run(record, Observation(), session.host, datetime.now(UTC))
        return run

    @override
    async def suspend_run(self, session: Session, key: RunKey, value: bool) -> None:
        await suspend.suspend_run(session.client, key, value=value)

    @override
    async def retry_run(self, session: Session, key: RunKey, within: float) -> None:
        await retry.retry_run(session.client, key, within, session.rights)

    @override
    async def give_run(self, session: Session, record: Record, to: Owner) -> None:
        await adopt.give_owner(session.client, record, to)

    @override
    async def delete_run(self, session: Session, key: RunKey, within: float) -> str:
        return await delete.delete_run(session.client, key, within, session.rights)
