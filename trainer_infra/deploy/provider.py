"""The dynamic providers: what the Pulumi engine calls for our resources.

Pickled by reference into every resource, so path and names are an API. Every program imports this
file for that reference alone; what a provider does is in the module of its resource (`train_job`,
`train_jobs_result` and so on), which only the process that serves it loads.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pulumi.dynamic import (
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    UpdateResult,
)
from typing_extensions import override

from trainer_infra.deploy import boundary, secret_door
from trainer_infra.deploy.boundary import Provider
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.secret_transform import MISPLACED

Properties = dict[str, Any]


class _OfStack(Provider):
    """A provider of ours that knows its stack's connection."""

    @override
    def configure(self, req: ConfigureRequest) -> None:
        targets.configure(req)
        super().configure(req)


class TrainJobProvider(_OfStack):
    """A TrainJob: submitted at create, never waited for."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        from trainer_infra.deploy.operations import remediation_through_replace, train_job

        return _judged(
            news,
            lambda given: remediation_through_replace.kept(train_job.check(_own(_olds), given)),
        )

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        from trainer_infra.deploy.operations import remediation_through_replace, train_job

        remediation_through_replace.noticed(_own(_news))
        return train_job.diff(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        from trainer_infra.deploy.operations import train_job

        return train_job.create(_own(props))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        from trainer_infra.deploy.operations import train_job

        return train_job.read(id_, _own(props))

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        from trainer_infra.deploy.operations import train_job

        return train_job.update(_own(_olds), _own(_news))

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        from trainer_infra.deploy.operations import train_job

        train_job.delete(_own(_props))


class TrainJobResultProvider(_OfStack):
    """A gate: waits for a TrainJob at create, and knows how it ended."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        from trainer_infra.deploy.operations import train_job_result

        return _judged(news, train_job_result.check)

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        from trainer_infra.deploy.operations import train_job_result

        return train_job_result.diff(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        from trainer_infra.deploy.operations import train_job_result

        return train_job_result.create(_own(props))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        from trainer_infra.deploy.operations import train_job_result

        return train_job_result.read(id_, _own(props))


class TrainJobsProvider(_OfStack):
    """A batch of TrainJobs: all submitted at create, never waited for."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        from trainer_infra.deploy.operations.train_jobs import batch

        return _judged(news, lambda given: batch.check(_own(_olds), given))

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        from trainer_infra.deploy.operations.train_jobs import batch

        return batch.diff(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        from trainer_infra.deploy.operations.train_jobs import batch

        return batch.create(_own(props))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        from trainer_infra.deploy.operations.train_jobs import batch

        return batch.read(id_, _own(props))

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        from trainer_infra.deploy.operations.train_jobs import batch

        return batch.update(_own(_olds), _own(_news))

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        from trainer_infra.deploy.operations.train_jobs import batch

        batch.delete(_own(_props))


class TrainJobsResultProvider(_OfStack):
    """The gate of a batch: waits for all its TrainJobs at create, and knows how they ended."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        from trainer_infra.deploy.operations.train_jobs import gate

        return _judged(news, gate.check)

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        from trainer_infra.deploy.operations.train_jobs import gate

        return gate.diff(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        from trainer_infra.deploy.operations.train_jobs import gate

        return gate.create(_own(props))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        from trainer_infra.deploy.operations.train_jobs import gate

        return gate.read(id_, _own(props))

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        from trainer_infra.deploy.operations.train_jobs import gate

        return gate.update(_own(_news))


class _RuntimeProvider(_OfStack):
    """A runtime of either kind."""

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        from trainer_infra.deploy.operations import remediation_through_replace, training_runtime

        return _judged(
            news,
            lambda given: remediation_through_replace.kept(
                training_runtime.check(_own(_olds), given)
            ),
        )

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        from trainer_infra.deploy.operations import remediation_through_replace, training_runtime

        remediation_through_replace.noticed(_own(_news))
        return training_runtime.diff(_own(_olds), _own(_news))

    @override
    def create(self, props: Properties) -> CreateResult:
        from trainer_infra.deploy.operations import training_runtime

        return training_runtime.create(_own(props))

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        from trainer_infra.deploy.operations import training_runtime

        return training_runtime.read(id_, _own(props))

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        from trainer_infra.deploy.operations import training_runtime

        return training_runtime.update(_own(_olds), _own(_news))

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        from trainer_infra.deploy.operations import training_runtime

        training_runtime.delete(_own(_props))


class TrainingRuntimeProvider(_RuntimeProvider):
    """A TrainingRuntime: an object of a namespace, where there is a cluster."""


class ClusterTrainingRuntimeProvider(_RuntimeProvider):
    """A ClusterTrainingRuntime: an object of the cluster, where there is one."""


def _judged(news: Properties, judge: Callable[[Properties], CheckResult]) -> CheckResult:
    """What `judge` says, unless a transform has put secrets where they would be copied."""
    given = _own(news)
    paths = given.pop(MISPLACED, ())
    if not paths:
        return judge(given)
    return CheckResult(given, boundary.failures(tuple(map(secret_door.problem, paths))))


def _own(properties: Mapping[str, Any]) -> Properties:
    """The properties as JSON, without the pickled provider that the engine keeps among them."""
    plain: Properties = boundary.plain(properties)
    plain.pop("__provider", None)
    return plain
