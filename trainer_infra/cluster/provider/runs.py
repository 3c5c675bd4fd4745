"""Runs in a cluster: the facade of engine `provider`.

What a run is stands in `record`; each verb has a file of its own.
"""

from datetime import UTC, datetime
from typing import ClassVar

from typing_extensions import override

from trainer_infra.cluster import rights, run_lookup, served_kinds
from trainer_infra.cluster.provider import (
    adopt,
    behaviour,
    delete,
    observed_run,
    retry,
    submit,
    suspend,
    unsupported_fields,
)
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.cluster.rights import Right
from trainer_infra.cluster.run_record import Record
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.cluster.served_kinds import ServedKinds
from trainer_infra.cluster.session import Session
from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs.run import Owner, Run, RunKey, Submission
from trainer_infra.runs.view import Observation


class Cluster(ClusterRuns):
    """Runs in the cluster of a kubeconfig's context, without a controller of ours there."""

    store: ClassVar[RunStore] = RECORDS
    change: ClassVar[tuple[Right, ...]] = rights.CHANGE

    @override
    def controller(self) -> str:
        return ""

    @override
    def problems(
        self,
        job: JSONObject,
        objects: tuple[JSONObject, ...],
        controller: str = "",
    ) -> tuple[Problem, ...]:
        return unsupported_fields.unsupported_fields(job, objects)

    @override
    def behaviour(
        self, plugins: tuple[Plugin, ...], owner: Owner, controller: str = ""
    ) -> Behaviour:
        """What renders the objects as this engine writes them; makes no request."""
        return behaviour.provider_behaviour(plugins, owner)

    @override
    def remark(self, found: ServedKinds) -> str:
        return served_kinds.of_engine_provider(found)

    @override
    async def submit_run(
        self, session: Session, submission: Submission, take_over: bool, within: float
    ) -> Run:
        metadata = submission.job["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        wanted = await rights.to_submit(session.client, submission.objects)
        await session.rights.require(namespace, wanted, f"submit run {namespace}/{name}")
        made = await submit.submit_run(
            session.client, submission, take_over=take_over, within=within
        )
        if made.jobset is not None:
            seen = Observation(made.jobset)
            return observed_run.current_run(made.record, seen, session.host, datetime.now(UTC))
        session.cache.forget()
        run = await run_lookup.at_one(session, namespace, name)
        if run is None:
            raise NotAvailable(f"run {namespace}/{name} was deleted meanwhile")
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
