"""The queue that a job waits in: one, by labels that Kueue takes."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape.object_meta import SUBDOMAIN_PATTERN
from trainer_infra.rules import pods
from trainer_infra.rules.placement import queue_objects
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value


class OneQueueing(Parameters):
    """What may be used together."""

    allow: tuple[str, ...] = ()
    """Schedulers that Kueue may be combined with after all: volcano, kai-scheduler, yunikorn."""


def _check_one_queue(_place: Value, context: Context[OneQueueing]) -> Iterator[Finding]:
    queue = queue_objects.queue_name(context.subject)
    if queue is None or not queue.text():
        return
    titles, policies = {}, {}
    for plugin in context.subject.behaviour.plugins:
        scheduler = plugin.scheduler
        if scheduler and scheduler.has_queues:
            titles[scheduler.scheduler_name] = plugin.name
            policies[scheduler.pod_group_policy] = scheduler.scheduler_name
    others = dict.fromkeys(_schedulers(context.subject, titles, policies))
    beside = [titles[each] for each in others if each not in context.parameters.allow]
    if beside:
        what = f"puts the job into a queue of Kueue, and {' and '.join(beside)} has its own"
        yield queue.finding(what, queue.text(), "remove the label, or the other scheduler")


def _schedulers(
    subject: Subject, titles: Container[str], policies: Mapping[str, str]
) -> Iterator[str]:
    """The schedulerName of those that the job's pods are left to, by policy or by name."""
    policy = None if subject.runtime is None else subject.runtime.at("spec", "podGroupPolicy")
    for field, name in policies.items():
        if field and policy is not None and policy[field].is_there():
            yield name
    for pod in pods.pods_of(subject):
        scheduler = pod.spec["schedulerName"]
        if not scheduler.is_noted() and scheduler.text() in titles:
            yield scheduler.text()


ONE_QUEUEING: Final = Rule(
    id="one-queueing",
    title="A job must wait in one queueing system",
    severity=Severity.HIGH,
    kinds=pods.WORKLOADS - names.RUNTIMES,
    tags=("scheduling", "kueue", "volcano"),
    why=(
        "Two queueing systems that do not know each other admit different jobs: each job holds its "
        "quota in one of them and waits for the other."
    ),
    fix="Remove the label of Kueue's queue, or the other scheduler's name and PodGroup policy.",
    check=_check_one_queue,
    parameters=OneQueueing,
)
"""Coscheduling has no queue of its own and only places the gang that Kueue has admitted: both together
are fine. Schedulers with queues of their own (`phases.Scheduler.has_queues`) are not.
"""


_NAME: Final = re.compile(SUBDOMAIN_PATTERN, re.ASCII)
_SECONDS: Final = re.compile(r"\+?0*[1-9][0-9]*", re.ASCII)
_NAMES: Final = (names.KUEUE_QUEUE_LABEL, f"{names.KUEUE_GROUP}/prebuilt-workload-name")
_ELASTIC: Final = f"{names.KUEUE_GROUP}/elastic-job"
_OF_ONE_SIZE: Final = (names.JOBSET, names.TRAIN_JOB)


def _check_labels(place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    labels = place.at("metadata", "labels")
    for key in _NAMES:
        label = labels[key]
        if label.is_there() and not _NAME.fullmatch(label.text()):
            fix = "write lower-case letters, digits, - and ., or remove the label"
            yield label.finding("is not a valid name of a Kueue object", label.text(), fix)
    longest = labels[names.KUEUE_LONGEST_TIME]
    if longest.is_there() and not _SECONDS.fullmatch(longest.text()):
        what = "is not a number of seconds from 1 on"
        yield longest.finding(what, longest.text(), 'write for example "3600"')
    elastic = place.at("metadata", "annotations", _ELASTIC)
    if context.subject.kind in _OF_ONE_SIZE and elastic.text() == "true":
        what = f"is for Jobs and Ray's kinds, not for a {context.subject.kind}"
        yield elastic.finding(what, elastic.text(), "remove it")


QUEUE_LABELS: Final = Rule(
    id="queue-labels",
    title="Labels for Kueue must be valid",
    severity=Severity.HIGH,
    kinds=pods.WORKLOADS - names.RUNTIMES,
    tags=("scheduling", "kueue"),
    why="Kueue rejects the job.",
    fix="Use the name of a LocalQueue, and write times in seconds.",
    check=_check_labels,
)
"""Kueue's webhook of every kind of job: the queue and the prebuilt Workload are names of objects, the
longest time is a number of seconds, and JobSets and TrainJobs cannot change their size.
"""
