"""one-queueing: a job waits in one queue, Kueue's or that of another gang scheduler.

Coscheduling has no queue of its own and only places the gang that Kueue has admitted: both together
are fine. Schedulers with queues of their own (`phases.Scheduler.has_queues`) are not.
"""

from collections.abc import Container, Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.placement import queue_objects
from trainer_infra.rules.rule import Context, Parameters, Rule, whole
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value


class OneQueueing(Parameters):
    """What may be used together."""

    allow: tuple[str, ...] = ()
    """Schedulers that Kueue may be combined with after all: volcano, kai-scheduler, yunikorn."""


def _check(_place: Value, context: Context[OneQueueing]) -> Iterator[Finding]:
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


RULE: Final = Rule(
    id="one-queueing",
    title="A job waits in one queue",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "kueue", "volcano"),
    why=(
        "Two queues that know nothing of one another admit different jobs: each of these holds its "
        "quota in one of them and waits for the other."
    ),
    fix="Remove the label of Kueue's queue, or the other scheduler's name and PodGroup policy.",
    places=whole,
    check=_check,
    parameters=OneQueueing,
)
