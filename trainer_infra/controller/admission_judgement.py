"""The four webhooks of the manager: a path and a request in, a response out, without a transport.

`lifecycle.admission` decides; here its inputs are read, what only a cluster knows is looked up, and
its verdict is put in the API's words. Paths, codes and messages: reference behaviour 5.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import admission_review
from trainer_infra.controller.admission_review import (
    CREATE,
    LARGE,
    OPERATIONS,
    UPDATE,
    AdmissionRequest,
    AdmissionResponse,
    LargeReviews,
)
from trainer_infra.controller.runtime_lookup import AdmissionLookups
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, summed_up
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.refusals import Answer
from trainer_infra.lifecycle import admission, due_objects
from trainer_infra.lifecycle.admission import Before, Verdict
from trainer_infra.render import resolve
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.plugins import volcano

T = TypeVar("T")

_FOLDER: Final = "trainer-kubeflow-org-v1alpha1"
MUTATE_TRAIN_JOB: Final = f"/mutate-{_FOLDER}-trainjob"
VALIDATE_TRAIN_JOB: Final = f"/validate-{_FOLDER}-trainjob"
VALIDATE_TRAINING_RUNTIME: Final = f"/validate-{_FOLDER}-trainingruntime"
VALIDATE_CLUSTER_TRAINING_RUNTIME: Final = f"/validate-{_FOLDER}-clustertrainingruntime"
PATHS: Final = (
    MUTATE_TRAIN_JOB,
    VALIDATE_TRAIN_JOB,
    VALIDATE_TRAINING_RUNTIME,
    VALIDATE_CLUSTER_TRAINING_RUNTIME,
)
_VALIDATED: Final[Mapping[str, Any]] = {
    VALIDATE_TRAIN_JOB: TrainJob,
    VALIDATE_TRAINING_RUNTIME: TrainingRuntime,
    VALIDATE_CLUSTER_TRAINING_RUNTIME: ClusterTrainingRuntime,
}
_NEITHER: Final = ("managedFields", "selfLink")
"""Fields of metadata that decide nothing; the first is long."""
_SMALLER: Final = "make the object smaller, or try again later"
ALLOWED: Final = AdmissionResponse()


class _LookupFailure(Exception):
    """The cluster could not be asked for what a judgement needs."""

    def __init__(self, field: str, error: Exception) -> None:
        why = str(error) or "the API server gave no answer in time"
        super().__init__(f"{field}: {admission_review.INTERNAL}: {why}")


@dataclass(frozen=True, slots=True)
class AdmissionJudge:
    """Answers the requests of all four webhooks."""

    lookups: AdmissionLookups
    """What is in the cluster."""
    behaviour: Behaviour = OURS
    """What decides."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The time that patches get."""
    large: LargeReviews = field(default_factory=LargeReviews)
    """Judges what would hold up others."""

    async def response(self, path: str, request: AdmissionRequest) -> AdmissionResponse:
        """The answer to a request of the webhook at one of PATHS."""
        wrong = _malformed(request)
        if wrong:
            return AdmissionResponse(False, 400, "BadRequest", wrong)
        if request.operation not in (CREATE, UPDATE) or self._is_leaving(request):
            return ALLOWED
        try:
            async with asyncio.timeout(self.large.seconds):
                return await self._judged(path, request)
        except TimeoutError:
            late = f"{request.size} bytes were not judged within {self.large.seconds:g} s"
            return AdmissionResponse(False, 500, "InternalError", f"{late}; {_SMALLER}")
        except _LookupFailure as failure:
            return AdmissionResponse(False, 500, "InternalError", str(failure))
        except RecursionError:
            return AdmissionResponse(False, 403, "Forbidden", "the object is nested too deeply")

    async def _judged(self, path: str, request: AdmissionRequest) -> AdmissionResponse:
        if path == MUTATE_TRAIN_JOB:
            return await self._apart(request, self._mutated, request)
        return await self._validated(path, request)

    async def _validated(self, path: str, request: AdmissionRequest) -> AdmissionResponse:
        read = await self._apart(request, _read, _VALIDATED[path], request)
        if isinstance(read, InvalidInput):
            kept = _keeps_spec(request) and all(map(_is_of_spec, read.problems))
            problems = () if kept else read.problems
            return await self._apart(
                request, self._answer, Verdict(problems=problems), lambda: request.value
            )
        value, old = read
        if isinstance(value, TrainJob):
            verdict = await self._of_train_job(request, value, old)
        else:
            verdict = await self._apart(
                request, admission.judge_runtime, value, old, self.behaviour
            )
        # Fields of the typed form are in the order in which Go's types show them.
        return await self._apart(request, self._answer, verdict, value.to_wire)

    async def _apart(self, request: AdmissionRequest, work: Callable[..., T], *arguments: Any) -> T:
        """What some work gives; that of a large request is done beside the loop."""
        if request.size < LARGE:
            return work(*arguments)
        return await self.large.done(work, *arguments)

    def _is_leaving(self, request: AdmissionRequest) -> bool:
        """Whether the stored object is being deleted: what remains are its finalizers (Q9)."""
        metadata = (request.old or {}).get("metadata") if request.operation == UPDATE else None
        leaving = isinstance(metadata, Mapping) and metadata.get("deletionTimestamp") is not None
        return leaving and self.behaviour.ours(Deviation.Q9)

    def _mutated(self, request: AdmissionRequest) -> AdmissionResponse:
        """The times of patches; of an object that breaks the schema the API server says it better."""
        try:
            job = TrainJob.from_wire(_completed(request.value, request))
        except InvalidInput:
            return ALLOWED
        stamped = admission.with_defaults(job, _stored(TrainJob, request), self.now())
        return replace(ALLOWED, patch=tuple(_time_patch(job, stamped)))

    async def _of_train_job(
        self, request: AdmissionRequest, job: TrainJob, old: TrainJob | None
    ) -> Verdict:
        needed = admission.needed_objects(job, old, self.behaviour)
        jobset = snapshot = runtime = None
        if needed.jobset:
            jobset = await _looked_up("spec.runtimePatches", self.lookups.jobset(job))
        if needed.snapshot:
            snapshot = await _looked_up("spec.runtimeRef", self.lookups.snapshot(job))
        observed = ObservedObjects(jobset, snapshot)
        born_with = _born_with(job, observed)
        if needed.runtime and born_with is None:
            try:
                runtime = await _looked_up("spec.runtimeRef", self.lookups.runtime(job))
            except InvalidInput as unreadable:
                return Verdict(problems=tuple(_of_reference(job, unreadable)))
        behaviour = await self._with_priority_classes(born_with or runtime)
        before = None if old is None else Before(old, observed)
        return await self._apart(
            request, admission.judge_train_job, job, runtime, before, behaviour
        )

    async def _with_priority_classes(self, runtime: Runtime | None) -> Behaviour:
        """The behaviour that knows which PriorityClasses of a gang's pods exist (Q16)."""
        wanted = [] if runtime is None else [*_priority_classes(runtime)]
        if not wanted:
            return self.behaviour
        asked = "spec.templateSpec.priorityClassName"
        found = await _looked_up(asked, self.lookups.priority_classes(wanted))
        plugins = (
            volcano.plugin(found) if each is volcano.PLUGIN else each
            for each in self.behaviour.plugins
        )
        return replace(self.behaviour, plugins=tuple(plugins))

    def _answer(self, verdict: Verdict, given: Callable[[], JSONObject]) -> AdmissionResponse:
        """The answer that tells a verdict; what was given is shown where it is refused."""
        if not verdict.problems:
            return replace(ALLOWED, warnings=verdict.warnings)
        value = given()
        advice = self.behaviour.ours(Deviation.ADVICE)
        problems = summed_up(verdict.problems)
        longest = admission_review.LONGEST // len(problems)
        sentences = (
            admission_review.field_error(each, value, with_advice=advice, longest=longest)
            for each in problems
        )
        causes = (admission_review.status_cause(each, value, longest) for each in problems)
        return AdmissionResponse(
            allowed=False,
            code=403,
            reason="Forbidden",
            message=admission_review.aggregate_message(sentences),
            causes=tuple(causes) if advice else (),
            warnings=verdict.warnings,
        )


def _malformed(request: AdmissionRequest) -> str:
    """Why a request cannot be judged; empty where it can."""
    if request.operation not in OPERATIONS:
        return f"unknown operation {request.operation!r}; it is one of {', '.join(OPERATIONS)}"
    needed = {CREATE: {"object": request.value}}.get(request.operation, {})
    if request.operation == UPDATE:
        needed = {"object": request.value, "oldObject": request.old}
    wrong = [name for name, value in needed.items() if not isinstance(value, Mapping)]
    return f"request.{wrong[0]} is not a JSON object; send the whole object" if wrong else ""


def _keeps_spec(request: AdmissionRequest) -> bool:
    """Whether an update leaves the spec as an older schema admitted it; the API server allows that."""
    return request.operation == UPDATE and request.old.get("spec") == request.value.get("spec")


def _is_of_spec(problem: Problem) -> bool:
    return re.match(r"spec\b", problem.path) is not None


def _read(kind: Any, request: AdmissionRequest) -> tuple[Any, Any] | InvalidInput:
    """The object and the one that is stored; what is wrong with the first where it cannot be read."""
    try:
        value = kind.from_wire(_completed(request.value, request))
    except InvalidInput as unreadable:
        return unreadable
    return value, _stored(kind, request)


def _stored(kind: Any, request: AdmissionRequest) -> Any:
    """The object before an update; None for a create.

    Where an older schema admitted it and ours cannot read it, the new one is judged like a create.
    """
    if request.operation != UPDATE:
        return None
    try:
        return kind.from_wire(_completed(request.old, request))
    except InvalidInput:
        return None


def _of_reference(job: TrainJob, unreadable: InvalidInput) -> Iterable[Problem]:
    """Problems of a runtime that cannot be read, as problems of the TrainJob that names it."""
    _, kind, name = job.spec.runtime_ref.named
    for each in unreadable.problems:
        yield Problem("spec.runtimeRef", f'{kind} "{name}" cannot be read: {each}')


def _completed(value: JSONObject, request: AdmissionRequest) -> JSONDict:
    """The object that is judged: in its namespace, without its status and bookkeeping."""
    wire = {key: item for key, item in value.items() if key != "status"}
    metadata = wire.get("metadata")
    if isinstance(metadata, Mapping):
        kept = {key: item for key, item in metadata.items() if key not in _NEITHER}
        if request.namespace and "namespace" not in kept:
            kept["namespace"] = request.namespace
        wire["metadata"] = kept
    return wire


def _born_with(job: TrainJob, observed: ObservedObjects) -> Runtime | None:
    """The runtime of a sound snapshot."""
    if observed.snapshot is None:
        return None
    try:
        return due_objects.runtime_born_with(job, None, observed)
    except InvalidInput:
        return None


async def _looked_up(field: str, lookup: Awaitable[T]) -> T:
    """What a lookup finds.

    Raises:
        _LookupFailure: The API server could not be asked; the field is the one that needed it.
    """
    try:
        return await lookup
    except (Answer, NotAvailable, TimeoutError) as error:
        raise _LookupFailure(field, error) from error


def _priority_classes(runtime: Runtime) -> Collection[str]:
    """Names of PriorityClasses that pods of a Volcano gang have, each once."""
    policy = runtime.spec.pod_group_policy
    if policy is None or policy.volcano is None or runtime.spec.template is None:
        return ()
    jobs = (runtime.spec.template.spec or {}).get("replicatedJobs") or ()
    named = (resolve.pod_spec(each).get("priorityClassName") for each in jobs)
    return dict.fromkeys(each for each in named if each and each not in volcano.BUILT_IN)


def _time_patch(job: TrainJob, stamped: TrainJob) -> Iterable[JSONDict]:
    """JSON patch operations for the times that differ."""
    pairs = zip(job.spec.runtime_patches or (), stamped.spec.runtime_patches or (), strict=True)
    for position, (given, timed) in enumerate(pairs):
        path = f"/spec/runtimePatches/{position}/time"
        if timed.time is None and given.time is not None:
            yield {"op": "remove", "path": path}
        elif timed.time != given.time:
            yield {"op": "add", "path": path, "value": timed.time}
