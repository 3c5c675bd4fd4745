"""one-queueing: a job waits in one queue, Kueue's or that of another gang scheduler.

Coscheduling has no queue of its own and only places the gang that Kueue has admitted: both together
are fine. YuniKorn's, KAI's and Volcano's own queues are not.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.placement import kueue
from trainer_infra.rules.rule import Context, Parameters, Rule, whole
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value

_SCHEDULERS: Final = {
    names.VOLCANO_SCHEDULER: "Volcano",
    names.KAI_SCHEDULER: "KAI",
    names.YUNIKORN_SCHEDULER: "YuniKorn",
}
"""What a pod names those that have queues of their own."""


class OneQueueing(Parameters):
    """What may be used together."""

    allow: tuple[str, ...] = ()
    """Schedulers that Kueue may be combined with after all: volcano, kai-scheduler, yunikorn."""


def _check(_place: Value, context: Context[OneQueueing]) -> Iterator[Finding]:
    queue = kueue.queue_name(context.subject)
    if queue is None or not queue.text():
        return
    others = dict.fromkeys(_schedulers(context.subject))
    found = [_SCHEDULERS[each] for each in others if each not in context.parameters.allow]
    if found:
        what = f"puts the job into a queue of Kueue, and {' and '.join(found)} has its own"
        yield queue.finding(what, queue.text(), "remove the label, or the other scheduler")


def _schedulers(subject: Subject) -> Iterator[str]:
    """Those among them that the job's pods are left to."""
    runtime = subject.runtime
    if runtime is not None and runtime.at("spec", "podGroupPolicy", "volcano").is_there():
        yield names.VOLCANO_SCHEDULER
    for pod in pods.of(subject):
        name = pod.spec["schedulerName"]
        if not name.is_noted() and name.text() in _SCHEDULERS:
            yield name.text()


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
