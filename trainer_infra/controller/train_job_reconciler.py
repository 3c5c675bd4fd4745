"""One look at one TrainJob: observe, let `lifecycle.plan` decide, write what it decided.

Workers of the manager call it for each TrainJob that changed. It decides nothing about a TrainJob itself.
What it adds is what only a cluster brings: objects that are there already, answers that are late or no,
and when to look again.
"""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import child_memory, projection
from trainer_infra.controller.child_memory import Child, ChildMemory
from trainer_infra.controller.controller_metrics import ControllerMetrics
from trainer_infra.controller.early_end_watch import PODS
from trainer_infra.controller.event_recorder import EventRecorder
from trainer_infra.controller.informer import ObjectCache, ObjectKey
from trainer_infra.controller.leader_election import LeaderClient
from trainer_infra.controller.pod_observation import PodObservation
from trainer_infra.controller.runtime_lookup import RuntimeLookup
from trainer_infra.errors import InvalidInput, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer, Conflict, Exists, NotFound
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET, TRAIN_JOB
from trainer_infra.lifecycle import conditions, early_end, events, generated_secrets, status
from trainer_infra.lifecycle import plan as lifecycle
from trainer_infra.lifecycle.events import Event
from trainer_infra.lifecycle.plan import ObjectRef, Plan
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects

WITHIN: Final = 30.0
"""Seconds for one request; a webhook of JobSet's may take ten of them."""
RESYNC: Final = 600.0
"""Seconds after which the children of a TrainJob that goes on are looked after although nothing
changed: nothing watches who removes one."""
ROUNDS: Final = 3
"""Looks in a row, where what is there turns out to be other than was known."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a look brought."""

    again_after: float | None = None
    """Seconds until the next look that is due although nothing changes; None for never."""
    failed: bool = False
    """Whether it must be tried again soon."""


@dataclass(frozen=True, slots=True)
class ControllerCaches:
    """What informers hold."""

    train_jobs: ObjectCache
    job_sets: ObjectCache
    runtimes: dict[str, ObjectCache]
    """By kind."""

    @classmethod
    def empty(cls) -> "ControllerCaches":
        """Caches before the first list."""
        whole = projection.without_managers
        return cls(
            ObjectCache(whole),
            ObjectCache(projection.of_job_set),
            {kind: ObjectCache(whole) for kind in sorted(names.RUNTIMES)},
        )


class TrainJobReconciler:
    """Looks at TrainJobs; one look at a time for each of them."""

    def __init__(
        self,
        leader: LeaderClient,
        caches: ControllerCaches,
        recorder: EventRecorder,
        metrics: ControllerMetrics,
        behaviour: Behaviour,
    ) -> None:
        self._leader = leader
        self._caches = caches
        self._recorder = recorder
        self._metrics = metrics
        self.behaviour = behaviour
        """What decides; replaced when what a plugin needs has changed."""
        self.runtimes: Final = RuntimeLookup(leader.client, caches.runtimes)
        """Finds live runtimes."""
        self.pods: Final = PodObservation(leader.client)
        """Reads pods."""
        self._memories: dict[ObjectKey, ChildMemory] = {}
        self.without_job_set: Final[set[ObjectKey]] = set()
        """TrainJobs that should have a JobSet and have none: their runtime may be missing."""

    def lose_child(self, key: ObjectKey, child: Child) -> None:
        """A child that it has applied is gone, and is applied again where it is due."""
        if memory := self._memories.get(key):
            memory.applied.pop(child, None)

    async def reconcile(self, key: ObjectKey) -> Outcome:
        """Look at one TrainJob and write what is due."""
        value = self._caches.train_jobs.get(key)
        if value is None:
            self._memories.pop(key, None)
            self.without_job_set.discard(key)
            self.pods.forget(key)
            self.pods.early_ends.forget(key)
            self._metrics.forget(key)
            return Outcome()
        try:
            job = TrainJob.from_wire(value)
        except InvalidInput as error:
            _log.error("the stored TrainJob cannot be read, and is left alone: %s", error)
            return Outcome(lifecycle.RETRY)
        memory = self._memory_of(key, job)
        try:
            return await self._settle(key, await self._with_early_ends(key, job), memory)
        except Conflict as error:
            _log.info("looked at a version that is no longer the last: %s", error)
        except NotFound as error:
            _log.info("what was to be changed is gone: %s", error)
        except (TrainerInfraError, TimeoutError) as error:
            self._metrics.error(type(error).__name__)
            _log.warning("trying again later: %s", str(error) or "no answer in time")
        return Outcome(failed=True)

    async def _settle(self, key: ObjectKey, job: TrainJob, memory: ChildMemory) -> Outcome:
        """Decide and write; again where a create shows that more is there than was known."""
        observed = await self._observed(key, job, memory)
        for _ in range(ROUNDS):
            now = self._leader.client.now()
            plan = await self._plan(key, job, observed, now)
            if self._makes_again(key, job, memory, plan) and not await self._is_current(job):
                return Outcome(failed=True)
            there = await self._written(key, job, memory, plan)
            if there is None:
                await self._finish(key, job, memory, plan, now)
                self._note_job_set(key, job)
                return Outcome(self._next_look(key, memory, plan))
            observed = replace(observed, snapshot=there)
        return Outcome(failed=True)

    def _makes_again(self, key: ObjectKey, job: TrainJob, memory: ChildMemory, plan: Plan) -> bool:
        """Whether the plan makes the JobSet of a TrainJob that was looked at before."""
        makes = any(each["kind"] == names.JOBSET for each in plan.apply)
        before = bool(memory.applied) or job.status is not None
        return makes and before and key not in self._caches.job_sets

    async def _is_current(self, job: TrainJob) -> bool:
        """Whether the TrainJob is there as it was looked at.

        One that was deleted takes its JobSet along, and the watch of JobSets may tell first.

        Raises:
            NotFound: It is gone.
        """
        metadata, client = job.metadata, self._leader.client.within(WITHIN)
        live = await client.get(TRAIN_JOB, metadata.name, metadata.namespace or "")
        self._caches.train_jobs.put(live)
        return bool(live["metadata"]["resourceVersion"] == metadata.resource_version)

    def _note_job_set(self, key: ObjectKey, job: TrainJob) -> None:
        if key in self._caches.job_sets or _is_finished(job):
            self.without_job_set.discard(key)
        else:
            self.without_job_set.add(key)

    async def _observed(
        self, key: ObjectKey, job: TrainJob, memory: ChildMemory
    ) -> ObservedObjects:
        """What is there: from the caches, from memory, and of a run that goes on its pods."""
        jobset = self._caches.job_sets.get(key)
        if memory.snapshot is None and await self._may_have_snapshot(job, jobset):
            await self._recall_snapshot(key, memory)
        return ObservedObjects(
            jobset=jobset,
            snapshot=memory.snapshot_object(),
            objects=memory.objects(),
            pods=await self.pods.waiting(key, job, jobset),
            events_written=memory.events,
        )

    async def _may_have_snapshot(self, job: TrainJob, jobset: JSONObject | None) -> bool:
        """Whether an earlier process may have made one that creating it would not show."""
        if jobset is not None or _is_finished(job):
            return True
        return await self.runtimes.runtime_of(job) is None

    async def _recall_snapshot(self, key: ObjectKey, memory: ChildMemory) -> JSONObject | None:
        """The snapshot that is there, perhaps of an earlier TrainJob of this name."""
        name = f"{key.name}{names.SNAPSHOT_SUFFIX}"
        try:
            found = await self._leader.within(WITHIN).get(CONFIG_MAP, name, key.namespace)
        except NotFound:
            return None
        if projection.controller_uid(found) == memory.uid:
            memory.keep_snapshot(found)
        return found

    async def _plan(
        self, key: ObjectKey, job: TrainJob, observed: ObservedObjects, now: datetime
    ) -> Plan:
        """What is decided; with the pods and Jobs of a run that has just ended."""
        runtime = None
        if observed.snapshot is None:
            runtime = await self.runtimes.runtime_of(job)
        plan = lifecycle.plan(job, runtime, observed, now, self.behaviour)
        if not self._has_ended(job, plan) or observed.jobset is None:
            return plan
        observed = await self.pods.at_end(key, job, observed)
        return lifecycle.plan(job, runtime, observed, now, self.behaviour)

    def _has_ended(self, job: TrainJob, plan: Plan) -> bool:
        """Whether the plan ends the TrainJob, in a way that its pods have a say in."""
        after = (plan.status or {}).get("conditions") or ()
        kinds = [names.FAILED]
        if self.behaviour.ours(Deviation.EARLY_END):
            kinds.append(names.COMPLETE)
        return not _is_finished(job) and any(conditions.is_true(after, each) for each in kinds)

    async def _written(
        self, key: ObjectKey, job: TrainJob, memory: ChildMemory, plan: Plan
    ) -> JSONObject | None:
        """Write the objects of a plan; the snapshot, where there is one that was not known.

        An object that the API server refuses is an event, and stops those after it; the status is
        written all the same.
        """
        try:
            for value in plan.create:
                found = await self._create(key, memory, value)
                if found is not None:
                    return found
            for value in plan.apply:
                await self._apply(key, job, memory, value)
        except Conflict:
            raise
        except Answer as error:
            await self._finish(
                key, job, memory, _without_objects(plan, error), self._leader.client.now()
            )
            raise
        return None

    async def _create(
        self, key: ObjectKey, memory: ChildMemory, value: JSONObject
    ) -> JSONObject | None:
        """Create an object that is written once; a snapshot that was there before."""
        child = child_memory.child_of(value)
        if child in memory.created:
            return None
        is_snapshot = value["kind"] == CONFIG_MAP.kind
        try:
            made = generated_secrets.with_generated(value)
            await self._leader.within(WITHIN).create(made, manager=names.TRAINER_MANAGER)
        except Exists:
            if is_snapshot:
                found = await self._recall_snapshot(key, memory)
                if found is None:
                    message = "the snapshot of an earlier TrainJob went just now"
                    raise TimeoutError(message) from None
                return found
        if is_snapshot:
            memory.keep_snapshot(value)
        else:
            memory.created |= {child}
        return None

    async def _apply(
        self, key: ObjectKey, job: TrainJob, memory: ChildMemory, value: JSONObject
    ) -> None:
        """Apply an object, unless it is as it was applied last."""
        child = child_memory.child_of(value)
        is_job_set = value["kind"] == names.JOBSET
        there = self._caches.job_sets.get(key) if is_job_set else None
        if memory.applied.get(child) == _digest(value, there):
            return
        stored = await self._leader.within(WITHIN).apply(
            value, manager=names.TRAINER_MANAGER, force=True
        )
        if is_job_set:
            self._caches.job_sets.put(stored)
            if there is None:
                self._metrics.job_set_made(job)
            there = stored
        memory.applied[child] = _digest(value, there)

    async def _finish(
        self, key: ObjectKey, job: TrainJob, memory: ChildMemory, plan: Plan, now: datetime
    ) -> None:
        """Delete what is to go, store the status and record the events, in this order.

        Where something cannot be deleted, the status says all the same what was decided.
        """
        refusal: TrainerInfraError | TimeoutError | None = None
        for each in plan.delete:
            try:
                await self._delete(key, memory, each)
            except (TrainerInfraError, TimeoutError) as error:
                refusal = error
        if plan.status is not None:
            stored = await self._leader.within(WITHIN).merge_status(
                status.status_patch(job, plan.status), manager=names.TRAINER_MANAGER
            )
            self._caches.train_jobs.put(stored)
        for event in plan.events:
            self._recorder.record(job, event, now)
            if events.is_lasting(event):
                memory.events |= {(event.reason, event.message)}
        await self._note_waiting(job, plan.waiting)
        self._metrics.looked_at(key, job, plan.status, self._caches.job_sets.get(key))
        if refusal is not None:
            raise refusal

    async def _delete(self, key: ObjectKey, memory: ChildMemory, each: ObjectRef) -> None:
        resource = JOBSET if each.kind == names.JOBSET else TRAIN_JOB
        value = self._caches.job_sets.get(key) if resource is JOBSET else None
        uid = memory.uid if value is None else value["metadata"]["uid"]
        with suppress(NotFound):
            await self._leader.within(WITHIN).delete(resource, each.name, key.namespace, uid=uid)

    async def _note_waiting(self, job: TrainJob, sentence: str) -> None:
        """Keep in an annotation why it does not go on; a TrainJob that is being deleted stays as it is."""
        there = (job.metadata.annotations or {}).get(names.WAITING, "")
        if sentence != there and job.metadata.deletion_timestamp is None:
            await self._annotate(job, {names.WAITING: sentence})

    async def _with_early_ends(self, key: ObjectKey, job: TrainJob) -> TrainJob:
        """The TrainJob, which says now of which pods it was seen that they ended early."""
        noted = early_end.noted_pods(job.metadata.annotations)
        if new := await self.pods.ended_early(key, job, noted):
            text = json.dumps([*new, *noted][:PODS])
            job = await self._annotate(job, {names.EARLY_ENDS: text})
            for each in new:
                self._recorder.record(job, events.ended_early(each), self._leader.client.now())
        self.pods.early_ends.forget(key)
        return job

    async def _annotate(self, job: TrainJob, changes: Mapping[str, str]) -> TrainJob:
        """Write annotations of ours; an empty one goes, and what is not changed stays."""
        metadata = job.metadata
        there = metadata.annotations or {}
        ours = {each: there.get(each, "") for each in (names.WAITING, names.EARLY_ENDS)}
        kept = {key: each for key, each in {**ours, **changes}.items() if each}
        named = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
        value = {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {**named, **({"annotations": kept} if kept else {})},
        }
        stored = await self._leader.within(WITHIN).apply(
            value, manager=names.WAITING_MANAGER, force=True
        )
        self._caches.train_jobs.put(stored)
        return TrainJob.from_wire(stored)

    def _next_look(self, key: ObjectKey, memory: ChildMemory, plan: Plan) -> float | None:
        """Seconds until the next look: the plan's, the pods', or the children's."""
        looks = [plan.requeue_after, self.pods.next_look(key)]
        if len(memory.applied) > 1 or memory.created:
            looks.append(RESYNC)
        return min((each for each in looks if each is not None), default=None)

    def _memory_of(self, key: ObjectKey, job: TrainJob) -> ChildMemory:
        found = self._memories.get(key)
        uid = job.metadata.uid or ""
        if found is None or found.uid != uid:
            found = self._memories[key] = ChildMemory(uid)
            self.pods.forget(key)
        found.forget_after(RESYNC)
        return found


def _digest(value: JSONObject, there: JSONObject | None) -> bytes:
    """What tells whether an object must be applied again: what is applied, and what it changed."""
    generation = None if there is None else there["metadata"].get("generation")
    return child_memory.digest_of({"applied": value, "generation": generation})


def _is_finished(job: TrainJob) -> bool:
    return conditions.is_finished(status.stored_conditions(job))


def _without_objects(plan: Plan, error: Answer) -> Plan:
    """The plan after an object was refused: an event instead of those about what was made."""
    made = {names.EVENT_CREATED, names.EVENT_PATCH_OVERRIDDEN}
    kept = (each for each in plan.events if each.reason not in made)
    failed: Event = events.creation_failed(error)
    return replace(plan, create=(), apply=(), events=(*kept, failed))
