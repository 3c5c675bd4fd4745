"""topology-request: the annotations by which pods ask Kueue for a place in a topology fit together.

Kueue 0.19's webhooks of jobs. Whether there is such a level, and room in it, is said by
`topology-fits`.
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api.object_meta import LABEL_KEY
from trainer_infra.rules import pods
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_PREFIX: Final = f"{names.KUEUE_GROUP}/podset"
_REQUIRED: Final = names.KUEUE_REQUIRED_TOPOLOGY
_PREFERRED: Final = f"{_PREFIX}-preferred-topology"
_UNCONSTRAINED: Final = f"{_PREFIX}-unconstrained-topology"
_SLICE: Final = f"{_PREFIX}-slice-required-topology"
_SLICE_SIZE: Final = f"{_PREFIX}-slice-size"
_GROUP: Final = f"{_PREFIX}-group-name"

_LEVEL: Final = re.compile(LABEL_KEY["pattern"], re.ASCII)
_TRUTHS: Final = frozenset(
    ("1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False")
)
"""Booleans, as Go reads them from a text."""
_COUNTED: Final = (names.JOBSET, names.TRAIN_JOB)
"""Kinds that say themselves how many pods there are, where we know to look."""
_SIZE: Final = re.compile(r"\+?0*[1-9][0-9]{0,9}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    asked = pod.template.at("metadata", "annotations")
    if not any(key.startswith(_PREFIX) for key, _ in asked.fields()):
        return
    wishes = [
        asked[key] for key in (_REQUIRED, _PREFERRED, _UNCONSTRAINED) if asked[key].is_there()
    ]
    for each in wishes[1:]:
        what = f"stands beside {wishes[0].path[-1]}, and pods ask in one way"
        yield each.finding(what, each.text(), "remove one of them")
    for key in (_REQUIRED, _PREFERRED, _SLICE):
        level = asked[key]
        if level.is_there() and not _LEVEL.fullmatch(level.text()):
            fix = "write a label of machines such as example.com/rack"
            yield level.finding("is not the label of a level", level.text(), fix)
    free = asked[_UNCONSTRAINED]
    if free.is_there() and free.text() not in _TRUTHS:
        yield free.finding("is neither true nor false", free.text(), 'write "true"')
    yield from _slices(asked, pod, context)
    yield from _group(asked, bool(wishes) and wishes[0].path[-1] != _UNCONSTRAINED)


def _slices(asked: Value, pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    level, size = asked[_SLICE], asked[_SLICE_SIZE]
    if level.is_there() and not size.is_there():
        yield size.finding(f"is not set, and {_SLICE} is", fix="write how many pods a slice has")
    if not size.is_there():
        return
    if not level.is_there():
        what = f"is set without {_SLICE}"
        yield size.finding(what, size.text(), "remove it, or name the level of a slice")
    elif not _SIZE.fullmatch(size.text()) or int(size.text()) > nodes.MOST:
        yield size.finding("is not a number of pods from 1 on", size.text())
    elif context.subject.kind in _COUNTED and int(size.text()) > nodes.count(pod):
        what = f"is more than the {nodes.count(pod)} pods that there are"
        yield size.finding(what, size.text(), f"write {nodes.count(pod)} or less")


def _group(asked: Value, has_level: bool) -> Iterator[Finding]:
    group = asked[_GROUP]
    if not group.is_there():
        return
    if _NUMBER.fullmatch(group.text()):
        yield group.finding("is a number, and must be a name", group.text())
    if asked[_SLICE].is_there() or asked[_SLICE_SIZE].is_there():
        yield group.finding("cannot be combined with slices", group.text(), "remove one of them")
    if not has_level:
        what = "needs a level that the group requires or prefers"
        yield group.finding(what, group.text(), f"add {_REQUIRED}, or remove it")


RULE: Final = Rule(
    id="topology-request",
    title="What pods ask of a topology fits together",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("scheduling", "kueue", "topology"),
    why="Kueue refuses the job, or the JobSet that a TrainJob becomes.",
    fix="Ask for one level, and give slices both a level and a size.",
    places=pods.pods_of,
    check=_check,
)
