"""spec.runtimeRef: the runtime that a TrainJob names exists, is the one at hand, and is sound.

Rules and messages: reference behaviour 4.2, 5.1 and 5.2.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.render import resolve
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft

KINDS: Final = (names.TRAINING_RUNTIME, names.CLUSTER_TRAINING_RUNTIME)
CONTAINERS: Final = {
    names.TRAINER: names.NODE,
    names.DATASET_INITIALIZER: names.DATASET_INITIALIZER,
    names.MODEL_INITIALIZER: names.MODEL_INITIALIZER,
}
"""The container that a job with an ancestor label must have."""


def runtime_ref_problems(draft: Draft) -> Iterable[Problem]:
    """A reference to another runtime, and what is wrong with the runtime itself."""
    named = draft.job.spec.runtime_ref.named
    given = (names.GROUP, draft.runtime.kind, draft.runtime.metadata.name)
    if named != given:
        yield Problem(
            "spec.runtimeRef",
            f"names {named[1]} {named[2]!r}, but the runtime at hand is "
            f"{draft.runtime.kind} {draft.runtime.metadata.name!r}",
        )
    if draft.ours(Deviation.RUNTIME):
        yield from of_runtime(draft.runtime, draft.deviations)


def unsupported_kind(job: TrainJob) -> str:
    """`unsupported runtime: <Kind>.<group>` when no runtime has that kind; else empty."""
    reference = job.spec.runtime_ref
    group = names.GROUP if reference.api_group is None else reference.api_group
    kind = names.CLUSTER_TRAINING_RUNTIME if reference.kind is None else reference.kind
    if group == names.GROUP and kind in KINDS:
        return ""
    return f"unsupported runtime: {'.'.join(part for part in (kind, group) if part)}"


def missing_runtime(job: TrainJob) -> Problem:
    """The problem of a TrainJob whose runtime is not there when the TrainJob is admitted."""
    _, kind, _ = job.spec.runtime_ref.named
    # The reference's own paths differ like this.
    path = "spec.runtimeRef" if kind == names.TRAINING_RUNTIME else "spec.RuntimeRef"
    return Problem(
        path,
        f"{_absent(job)}: specified {kind[0].lower()}{kind[1:]} must be created before the "
        "TrainJob is created",
        got=job.spec.runtime_ref.to_wire(),
    )


def not_found(job: TrainJob) -> str:
    """What a reconcile says of a TrainJob whose runtime is not there and was never copied."""
    if job.spec.runtime_ref.named[1] == names.TRAINING_RUNTIME:
        return f"TrainingRuntime specified in TrainJob is not found: {_absent(job)}"
    return f"not found ClusterTrainingRuntime specified in TrainJob: {_absent(job)}"


def is_deprecated(runtime: Runtime) -> bool:
    """Whether the runtime's label says that it will go; only cluster runtimes have that label."""
    support = (runtime.metadata.labels or {}).get(names.SUPPORT_LABEL)
    cluster = runtime.kind == names.CLUSTER_TRAINING_RUNTIME
    return cluster and support == names.SUPPORT_DEPRECATED


def deprecation_sentence(runtime: Runtime) -> str:
    """The sentence about a deprecated runtime; `Referenced ` goes before it for a TrainJob."""
    return (
        f'ClusterTrainingRuntime "{runtime.metadata.name}" is deprecated and will be removed in a '
        "future release of Kubeflow Trainer. See runtime deprecation policy: "
        f"{names.DEPRECATION_POLICY}"
    )


def of_runtime(runtime: Runtime, deviations: frozenset[Deviation]) -> Iterable[Problem]:
    """Ancestor jobs run once and have the container their ancestor needs.

    By our deviations there is a job at all, and one gang scheduler (Q10).
    """
    where = f"{runtime.kind} {runtime.metadata.name}"
    jobs = resolve.jobset_spec(runtime).get("replicatedJobs") or ()
    policy = runtime.spec.pod_group_policy
    if Deviation.Q10 in deviations and policy and policy.coscheduling and policy.volcano:
        # The API documents the rule, and nothing else checks it (Q10).
        yield Problem(
            "spec.podGroupPolicy",
            "must have only one of coscheduling and volcano",
            got=policy.to_wire(),
            fix="remove one of them: a pod has one scheduler",
            where=where,
        )
    if not jobs and Deviation.RUNTIME in deviations:
        yield Problem("spec.template.spec.replicatedJobs", "must have a job", where=where)
    for index, job in enumerate(jobs):
        ancestor = resolve.ancestor_step(job)
        container = CONTAINERS.get(ancestor or "")
        path = f"spec.template.spec.replicatedJobs[{index}]"
        if container is None:
            continue
        if job.get("replicas", 1) != 1:
            yield Problem(f"{path}.replicas", "always must be 1", got=job["replicas"], where=where)
        if all(each["name"] != container for each in resolve.pod_spec(job).get("containers") or ()):
            yield Problem(
                f"{path}.template.spec.template.spec.containers",
                f"must contain the required container for the ancestor: {ancestor}",
                fix=f"name one {container!r}",
                where=where,
            )


def _absent(job: TrainJob) -> str:
    """What an API server answers."""
    _, kind, name = job.spec.runtime_ref.named
    return f'{kind.lower()}s.{names.GROUP} "{name}" not found'
