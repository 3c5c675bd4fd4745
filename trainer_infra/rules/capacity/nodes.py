"""Which pods of an object train, how many they are, and where that is written.

With MPI these are the pods of the job `node`, and the launcher only where it trains too. Otherwise
they are those of the jobs that have the trainer's label.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render import gang
from trainer_infra.rules import pods
from trainer_infra.rules.pods import Container, Pod
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import ABSENT, Value

MOST: Final = 2**31 - 1
"""The largest number that Kubernetes' own counts and seconds can be."""


def of(subject: Subject) -> Iterator[Pod]:
    """The pods that train."""
    mpi = subject.ml_policy["mpi"]
    joins = mpi["runLauncherAsNode"]
    only_starts = mpi.raw is not ABSENT and not joins.is_noted() and joins.raw is not True
    for pod in pods.of(subject):
        if pod.job["name"].raw == names.NODE or (pod.trains and not only_starts):
            yield pod


def containers(subject: Subject) -> Iterator[Container]:
    """Their containers that train."""
    for pod in of(subject):
        for each in pod.spec["containers"].items():
            if each["name"].raw == names.NODE:
                yield Container(each, pod, is_init=False)


def together(subject: Subject) -> Iterator[Pod]:
    """All pods that run at the same time: those of jobs that no other waits for to complete."""
    found = tuple(pods.of(subject))
    waits = (each for pod in found for each in pod.job["dependsOn"].items())
    before = [each["name"].raw for each in waits if each["status"].raw == gang.COMPLETE]
    return (pod for pod in found if pod.job["name"].raw not in before)


def count(pod: Pod) -> int:
    """How many pods there are of this kind.

    Raises:
        Unseen: It is not known.
    """
    return min(max(pod.count(), 0), MOST)


def count_value(pod: Pod) -> Value:
    """Where that number is written.

    Raises:
        Unseen: It is not known.
    """
    replicas, parallelism = pod.job["replicas"], pod.job_spec["parallelism"]
    is_single = (parallelism.number() or 1) == 1 and (replicas.number() or 1) != 1
    return replicas if is_single else parallelism


def total(subject: Subject) -> int:
    """How many nodes train; of a runtime, where its TrainJobs do not say another number.

    Raises:
        Unseen: It is not known.
    """
    if subject.kind in names.RUNTIMES:
        number = subject.ml_policy["numNodes"].number()
        return 1 if number is None else min(max(number, 0), MOST)
    return min(sum(count(each) for each in of(subject)), MOST)


def total_value(subject: Subject) -> Value:
    """Where that number is written: of several kinds of pods that of which there are most.

    Raises:
        Unseen: It is not known.
    """
    found = () if subject.kind in names.RUNTIMES else tuple(of(subject))
    most = max(found, key=count, default=None)
    return subject.ml_policy["numNodes"] if most is None else count_value(most)


def is_inherited(value: Value) -> bool:
    """Whether only the runtime of a TrainJob says it."""
    return value.root.written(value.path).inherited


def resources(container: Container, subject: Subject) -> Value:
    """Where a user writes what a container that trains asks for.

    Without an mlPolicy the runtime alone says it: `resourcesPerNode` has no effect then.
    """
    if subject.kind != names.TRAIN_JOB or subject.ml_policy.raw is ABSENT:
        return container.value["resources"]
    return subject.object.at("spec", "trainer", "resourcesPerNode")
