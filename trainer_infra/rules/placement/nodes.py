"""Which pods of an object train, which run together, how many they are, and where that is written.

With MPI those that train are the pods of the job `node`, and the launcher only where it trains too.
Otherwise they are those of the jobs that have the trainer's label; in a JobSet without such a label,
those of the job `node`, or else those that ask for accelerators. A JobSet is MPI's if one of its pods has
the hostfile.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render import gang
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.pods import Pod, PodContainer
from trainer_infra.rules.rule import Subject, Value
from trainer_infra.rules.value import ABSENT, UNKNOWN

MOST: Final = 2**31 - 1
"""The largest number that Kubernetes' own counts and seconds can be."""
_SIZES: Final = ("parallelism", "numOfHosts", "size")
"""Pods of one Job, of one replica of a group of Ray, and of one group of a LeaderWorkerSet, its leader included."""
_LEADER, _WORKER = "leaderTemplate", "workerTemplate"


def training_pods(subject: Subject) -> Iterator[Pod]:
    """The pods that train."""
    found, policy = tuple(pods.pods_of(subject)), subject.ml_policy["mpi"]
    joins, is_mpi = policy["runLauncherAsNode"], policy.raw is not ABSENT
    only_starts = is_mpi and not joins.is_noted() and joins.raw is not True
    by_name = is_mpi
    if subject.kind == names.JOBSET:
        by_name = any(map(_has_hostfile, found)) or not any(pod.trains for pod in found)
        if by_name and not any(pod.job["name"].raw in (names.NODE, UNKNOWN) for pod in found):
            yield from filter(_computes, found)
            return
    for pod in found:
        is_node = by_name and pod.job["name"].raw == names.NODE
        if is_node or (pod.trains and not only_starts and not _is_launcher(pod, subject)):
            yield pod


def _is_launcher(pod: Pod, subject: Subject) -> bool:
    """Whether a JobSet's pod only starts what trains: nothing says so but what it has."""
    if subject.kind != names.JOBSET or not _has_hostfile(pod):
        return False
    return not _computes(pod)


def _computes(pod: Pod) -> bool:
    return any(map(amounts.gpus_of, pod.spec["containers"].items()))


def _has_hostfile(pod: Pod) -> bool:
    return any(each["name"].raw == names.HOSTFILE_VOLUME for each in pod.spec["volumes"].items())


def training_containers(subject: Subject) -> Iterator[PodContainer]:
    """Their containers that train: those called `node`, or else those of a JobSet that have accelerators."""
    for pod in training_pods(subject):
        found = [*pod.spec["containers"].items()]
        named = [each for each in found if each["name"].raw == names.NODE]
        if not named and subject.kind == names.JOBSET:
            named = [each for each in found if amounts.gpus_of(each) is not None]
        yield from (PodContainer(each, pod, is_init=False) for each in named)


def pods_together(subject: Subject) -> tuple[Pod, ...]:
    """The pods that run at the same time in the end, by the rule of `render/gang`.

    A job that another one waits for to complete runs before the others, with all that it waits for.
    """
    every = tuple(pods.pods_of(subject))
    if not subject.is_whole:
        # Of its jobs a TrainJob says only of the trainer what it asks for, which runs in the end.
        return every
    waits = {pod.name(): _waits(pod) for pod in every}
    before = gang.jobs_outside(waits)
    return tuple(pod for pod in every if pod.name() not in before)


def count(pod: Pod) -> int:
    """How many pods of this kind run at once: no more of a Job than it has to complete."""
    replicas, completions = pod.job["replicas"].number(), pod.job_spec["completions"].number()
    sizes = (pod.job_spec[each].number() for each in _SIZES)
    of_job = next((each for each in sizes if each is not None), 1)
    if pod.template.path[-1:] == (_LEADER,):
        of_job = 1
    elif pod.template.path[-1:] == (_WORKER,) and pod.job_spec[_LEADER].is_there():
        of_job -= 1
    at_once = of_job if completions is None else min(of_job, completions)
    return _clamped((1 if replicas is None else replicas) * at_once)


def pods_text(number: int) -> str:
    """So many pods, for people."""
    return f"{number} pod{'' if number == 1 else 's'}"


def count_place(pod: Pod, subject: Subject) -> Value:
    """Where the user writes how many pods there are."""
    if subject.kind == names.TRAIN_JOB and pod.step not in pods.INITIALIZERS:
        return subject.object.at("spec", "trainer", "numNodes")
    return _written_count(pod)


def total(subject: Subject) -> int:
    """How many nodes train; of a runtime, where its TrainJobs do not say another number."""
    if subject.kind in names.RUNTIMES:
        number = subject.ml_policy["numNodes"].number()
        return 1 if number is None else _clamped(number)
    return _clamped(sum(count(each) for each in training_pods(subject)))


def total_value(subject: Subject) -> Value:
    """Where that number is written: of several kinds of pods that of which there are most."""
    found = () if subject.kind in names.RUNTIMES else tuple(training_pods(subject))
    most = max(found, key=count, default=None)
    return subject.ml_policy["numNodes"] if most is None else _written_count(most)


def _clamped(number: int) -> int:
    return min(max(number, 0), MOST)


def _written_count(pod: Pod) -> Value:
    replicas, parallelism = pod.job["replicas"], pod.job_spec["parallelism"]
    if pod.job is pod.job_spec:
        sizes = (pod.job[each] for each in _SIZES)
        # A Job has no replicas.
        usual = parallelism if pod.job.path[-1:] == ("spec",) else replicas
        return next((each for each in sizes if each.is_there()), usual)
    is_single = (parallelism.number() or 1) == 1 and (replicas.number() or 1) != 1
    return replicas if is_single else parallelism


def _waits(pod: Pod) -> dict[str, str]:
    found = lookup.items(pod.job["dependsOn"])
    return {each["name"].text(): each["status"].text() for each in found}
