"""Which pods of a job run at the same time, and where a user says how many.

The same rule as `render/gang`: a job that another one waits for to complete runs before the others.
"""

from trainer_infra import names
from trainer_infra.render.gang import COMPLETE
from trainer_infra.rules import pods
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.scheduling import lookup
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value


def together(subject: Subject) -> tuple[Pod, ...]:
    """The pods that run at the same time in the end.

    Raises:
        Unseen: What waits for what is not known.
    """
    every = tuple(pods.of(subject))
    waits = {pod.name(): _waits(pod) for pod in every}
    left = [name for each in waits.values() for name, state in each.items() if state == COMPLETE]
    before: set[str] = set()
    while left:
        name = left.pop()
        if name not in before:
            before.add(name)
            left.extend(waits.get(name, ()))
    return tuple(pod for pod in every if pod.name() not in before)


def count_place(pod: Pod, subject: Subject) -> Value:
    """Where the user writes how many pods there are.

    Raises:
        Unseen: It is not known.
    """
    if subject.kind == names.TRAIN_JOB and pod.step not in pods.INITIALIZERS:
        return subject.object.at("spec", "trainer", "numNodes")
    parallelism = pod.job_spec["parallelism"]
    return parallelism if parallelism.is_there() else pod.job["replicas"]


def patch_place(value: Value, subject: Subject) -> Value:
    """The value, or where a TrainJob patches its pods if its own object does not say it."""
    if subject.kind == names.TRAIN_JOB and value.root.written(value.path).inherited:
        return subject.object.at("spec", "runtimePatches")
    return value


def _waits(pod: Pod) -> dict[str, str]:
    found = lookup.items(pod.job["dependsOn"])
    return {each["name"].text(): each["status"].text() for each in found}
