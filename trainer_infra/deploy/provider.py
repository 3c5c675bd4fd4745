"""The dynamic providers: what the Pulumi engine calls for our resources.

Pickled by reference into the state of every resource, so path and names are an API, and none has a
value of its own. Every program imports this file for that reference alone; what a provider does is
in the module of `operations` that it names, which only the process that serves it loads.
"""

from importlib import import_module
from typing import Any, ClassVar

from pulumi.dynamic import (
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    ResourceProvider,
    UpdateResult,
)
from typing_extensions import override

from trainer_infra.deploy import boundary, secret_door
from trainer_infra.deploy.boundary import SESSION, from_engine
from trainer_infra.deploy.secret_transform import MISPLACED

Properties = dict[str, Any]


class Provider(ResourceProvider):
    """Hands every call over to a module, as plain JSON, and gives its answer to the engine."""

    serialize_as_secret_always = False
    """A reference is not a secret, and the engine would encrypt it in every resource, twice."""
    module: ClassVar[str]
    """The module of `operations` that decides."""

    @property
    def _operations(self) -> Any:
        return import_module(f"trainer_infra.deploy.operations.{self.module}")

    @override
    def configure(self, req: ConfigureRequest) -> None:
        boundary.configure_session(req)

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        given = from_engine(news)
        if paths := given.pop(MISPLACED, ()):
            # A transform has put secrets where they would be copied.
            return CheckResult(
                given, boundary.failure_details(map(secret_door.misplaced_secret, paths))
            )
        answer = self._operations.check(from_engine(_olds), given, SESSION)
        return CheckResult(dict(answer.inputs), boundary.failure_details(answer.problems))

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        answer = self._operations.diff(from_engine(_olds), from_engine(_news), SESSION)
        boundary.DETAIL.paths = answer.paths
        first = answer.delete_before_replace
        return DiffResult(answer.changes, list(answer.replaces), delete_before_replace=first)

    @override
    def create(self, props: Properties) -> CreateResult:
        answer = self._operations.create(from_engine(props), SESSION)
        return CreateResult(answer.id, dict(answer.outputs))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        answer = self._operations.read(from_engine(props), SESSION)
        if answer is None:
            return ReadResult("", {})
        inputs = None if answer.inputs is None else dict(answer.inputs)
        return ReadResult(id_, dict(answer.outputs), inputs)

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        outputs = self._operations.update(from_engine(_olds), from_engine(_news), SESSION)
        return UpdateResult(dict(outputs))

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        self._operations.delete(from_engine(_props), SESSION)


class TrainJobProvider(Provider):
    """A TrainJob: submitted at create, never waited for."""

    module = "train_job"


class TrainJobsProvider(Provider):
    """A batch of TrainJobs: all submitted at create, never waited for."""

    module = "train_jobs.batch"


class TrainingRuntimeProvider(Provider):
    """A TrainingRuntime: an object of a namespace, where there is a cluster."""

    module = "training_runtime"


class ClusterTrainingRuntimeProvider(TrainingRuntimeProvider):
    """A ClusterTrainingRuntime: an object of the cluster, where there is one."""


class DestroyGuardProvider(Provider):
    """A guard: it keeps what is in use from being destroyed."""

    module = "destroy_guard"


class OwnerCheckProvider(Provider):
    """What refuses to install over another component's installation."""

    module = "owner_check"


class _GateProvider(Provider):
    """A gate: it waits in create and update, as long as the engine does, and has nothing to delete."""

    module = "train_jobs.result_gate"

    @override
    def create(self, props: Properties) -> CreateResult:
        with boundary.while_engine_lives():
            return super().create(props)

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        with boundary.while_engine_lives():
            return super().update(_id, _olds, _news)

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        return


class TrainJobResultProvider(_GateProvider):
    """The gate of a TrainJob: waits for it, and knows how it ended."""


class TrainJobsResultProvider(_GateProvider):
    """The gate of a batch: waits for all its TrainJobs, and knows how they ended."""
