"""topology-groups: groups of pods that Kueue places together are made of two jobs, one of them a single pod.

Kueue 0.19's webhook of JobSets. Of a runtime groups are not judged: its TrainJobs say how many pods
there are.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole

_GROUP: Final = f"{names.KUEUE_GROUP}/podset-group-name"
_LEVELS: Final = (names.KUEUE_REQUIRED_TOPOLOGY, f"{names.KUEUE_GROUP}/podset-preferred-topology")
_SIZE: Final = 2


def _check(_place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    groups: dict[str, list[Pod]] = {}
    for pod in pods.pods_of(context.subject):
        group = _annotations(pod)[_GROUP]
        if group.is_there():
            groups.setdefault(group.text(), []).append(pod)
    for name, members in groups.items():
        first = _annotations(members[0])[_GROUP]
        if len(members) != _SIZE:
            what = f"is the group of {len(members)} jobs, and Kueue places {_SIZE} together"
            yield first.finding(what, name, f"name it on {_SIZE} jobs, or remove it")
        elif all(nodes.count(each) != 1 for each in members):
            what = "is a group without a job of one pod"
            yield first.finding(what, name, "one of the two jobs must have one pod")
        yield from _same_levels(*members) if len(members) == _SIZE else ()


def _annotations(pod: Pod) -> Value:
    return pod.template.at("metadata", "annotations")


def _same_levels(pod: Pod, other: Pod) -> Iterator[Finding]:
    for each in _LEVELS:
        level, wanted = _annotations(pod)[each], _annotations(other)[each].text()
        if level.text() != wanted:
            what = f"is not the {wanted or 'nothing'} that the other job of the group asks for"
            yield level.finding(what, level.text(), "write the same on both")


RULE: Final = Rule(
    id="topology-groups",
    title="Groups of pods in a topology are made of two jobs",
    severity=Severity.HIGH,
    kinds=frozenset((names.JOBSET, names.TRAIN_JOB)),
    tags=("scheduling", "kueue", "topology"),
    why="Kueue refuses the JobSet, and a TrainJob that was admitted before waits for ever.",
    fix="Give the group to two jobs, for example a launcher of one pod and its workers.",
    places=whole,
    check=_check,
)
