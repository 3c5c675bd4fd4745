"""spec.runtimeRef: the runtime that was handed in is the one the TrainJob names, and is sound.

Rules: spec/trainer-behaviour.md sections 4.2 and 5.2.
"""

from collections.abc import Iterable

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import Problem
from trainer_infra.render import resolve
from trainer_infra.render.draft import Draft


def problems(draft: Draft) -> Iterable[Problem]:
    """A reference to another runtime, and what is wrong with the runtime itself."""
    named = draft.job.spec.runtime_ref.named
    given = (names.GROUP, draft.runtime.kind, draft.runtime.metadata.name)
    if named != given:
        yield Problem(
            "spec.runtimeRef",
            f"names {named[1]} {named[2]!r}, but the runtime at hand is "
            f"{draft.runtime.kind} {draft.runtime.metadata.name!r}",
        )
    yield from of_runtime(draft.runtime)


def of_runtime(runtime: Runtime) -> Iterable[Problem]:
    """Ancestor jobs run once and have the container their ancestor needs."""
    template = runtime.spec.template
    where = f"{runtime.kind} {runtime.metadata.name}"
    jobs = ((template.spec if template else None) or {}).get("replicatedJobs") or ()
    if not jobs:
        yield Problem("spec.template.spec.replicatedJobs", "must have a job", where=where)
    for index, job in enumerate(jobs):
        ancestor = resolve.ancestor(job)
        container = {
            names.TRAINER: names.NODE,
            names.DATASET_INITIALIZER: names.DATASET_INITIALIZER,
            names.MODEL_INITIALIZER: names.MODEL_INITIALIZER,
        }.get(ancestor or "")
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
