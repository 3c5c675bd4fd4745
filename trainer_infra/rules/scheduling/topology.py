"""Kueue's topology: what pods ask of it, and whether there is room."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape.object_meta import LABEL_KEY
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, machines, nodes, queue_objects
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.value import ABSENT

_PREFIX: Final = f"{names.KUEUE_GROUP}/podset"
_REQUIRED: Final = names.KUEUE_REQUIRED_TOPOLOGY
_PREFERRED: Final = f"{_PREFIX}-preferred-topology"
_UNCONSTRAINED: Final = f"{_PREFIX}-unconstrained-topology"
_SLICE: Final = f"{_PREFIX}-slice-required-topology"
_SLICE_SIZE: Final = f"{_PREFIX}-slice-size"
_GROUP: Final = f"{_PREFIX}-group-name"
_LEVEL: Final = re.compile(LABEL_KEY["pattern"], re.ASCII)
_TRUTHS: Final = (
    *("1", "t", "T", "true", "TRUE", "True"),
    *("0", "f", "F", "false", "FALSE", "False"),
)
"""Booleans, as Go reads them from a text: six for yes, six for no."""
_LEVELS: Final = {
    _REQUIRED: names.REQUIRED_TOPOLOGY,
    _PREFERRED: names.PREFERRED_TOPOLOGY,
    _SLICE: "",
}
"""Annotations of pods that name a level, each with ours."""
_COUNTED: Final = (names.JOBSET, names.TRAIN_JOB)
"""Kinds that say themselves how many pods there are, where we know to look."""
_SIZE: Final = re.compile(r"\+?0*[1-9][0-9]{0,9}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)


def _check_room(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    asked = _annotations(place)
    for key, ours in _LEVELS.items() if asked.raw is not ABSENT else ():
        # Where the level is named.
        own, level = context.subject.object.at("metadata", "annotations", ours), asked[key]
        level = own if level.is_there() and own.raw == level.raw else level
        if not level.text():
            continue
        levels = _levels(context)
        if levels is not None and level.text() not in levels:
            what = "is not a level of a topology that the queue's flavors have"
            fix = f"use {' or '.join(levels)}" if levels else "give a flavor a topologyName"
            yield level.finding(what, level.text(), fix)
        elif key != _PREFERRED:
            yield from _has_room(place, level, context)
    free = asked[_UNCONSTRAINED]
    if free.text() in _TRUTHS[:6] and _levels(context) == ():
        what = "asks for a topology, and no flavor of the queue has one"
        yield free.finding(what, free.text(), "give a flavor a topologyName")


def _has_room(pod: Pod, level: Value, context: Context[Parameters]) -> Iterator[Finding]:
    """One domain of a level has room for all pods; of a slice's level for the pods of a slice."""
    room, size = _room(pod, level.text(), context), _annotations(pod)[_SLICE_SIZE]
    is_slice = level.path[-1:] == (_SLICE,)
    count = nodes.count(pod)
    if is_slice:
        count = min(count, int(size.text())) if _SIZE.fullmatch(size.text()) else 0
    if room is None or not 0 < room < count:
        return
    if is_slice:
        what = f"is more than the {room} pods that find place in one domain of {level.text()}"
        yield size.finding(what, size.text(), f"write {room} or less, or a higher level")
    else:
        what = f"makes more pods than the {room} that find place in one domain of {level.text()}"
        fix = f"use at most {nodes.pods_text(room)}, or require a higher level"
        yield nodes.count_place(pod, context.subject).finding(what, count, fix)


def _levels(context: Context[Parameters]) -> Sequence[str] | None:
    """The levels that there are; None where they are not all known."""
    flavors = queue_objects.flavors(context.subject, context.world)
    if flavors is None:
        return None
    found: dict[str, None] = {}
    for each in flavors:
        levels = queue_objects.topology_levels(each, context.world)
        if levels is None and each.spec["topologyName"].text():
            return None
        found |= dict.fromkeys(levels or ())
    return tuple(found)


def _room(pod: Pod, level: str, context: Context[Parameters]) -> int | None:
    """How many pods find place in the best domain; None where that is not known."""
    asked, every = amounts.amounts_of(pod, context.subject), context.world.pools
    found = [
        _in_domain(pool, level, machines.per_machine(pool, asked, every))
        for pool in machines.usable_pools(pod, asked, context.subject, context.world)
    ]
    known = [each for each in found if each is not None]
    return max(known, default=None) if len(known) == len(found) else None


def _in_domain(pool: Pool, level: str, per_machine: int | None) -> int | None:
    count = 1 if level == queue_objects.HOSTNAME else pool.topology.get(level)
    if per_machine == 0:
        return 0
    return None if count is None or per_machine is None else min(count, pool.nodes) * per_machine


TOPOLOGY_FITS: Final = Rule(
    id="topology-fits",
    title="A requested topology must exist, and a required one must hold all pods",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - names.RUNTIMES,
    tags=("scheduling", "kueue", "topology"),
    why="Kueue never admits a job if a level does not exist, or no domain of a required one is large enough.",
    fix="Name a level of the Topology, use fewer nodes, or make the level preferred instead of required.",
    places=pods.pods_of,
    check=_check_room,
    looks_around=True,
)
"""The level is that of `kueue.x-k8s.io/podset-required-topology`, of the preferred one or of a slice's, or
of our own annotations, which render to the first two. Levels are those of the Topologies of the queue's
flavors; how many machines a domain has is what pools declare. A domain of `kubernetes.io/hostname` is
one machine.
"""


def _check_request(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    asked = _annotations(pod)
    if not any(key.startswith(_PREFIX) for key, _ in asked.fields()):
        return
    places = (asked[key] for key in (_REQUIRED, _PREFERRED, _UNCONSTRAINED))
    wishes = [each for each in places if each.is_there()]
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
        what = f"is more than the {nodes.count(pod)} pods"
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


TOPOLOGY_REQUEST: Final = Rule(
    id="topology-request",
    title="A pod's topology requests must be consistent",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("scheduling", "kueue", "topology"),
    why="Kueue rejects the job, or the JobSet that a TrainJob becomes.",
    fix="Request one level, and give slices both a level and a size.",
    places=pods.pods_of,
    check=_check_request,
)
"""Kueue 0.19's webhooks of jobs. Whether there is such a level, and room in it, is said by
`topology-fits`.
"""


_GROUP_SIZE: Final = 2


def _check_groups(_place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    groups: dict[str, list[Pod]] = {}
    for pod in pods.pods_of(context.subject):
        group = _annotations(pod)[_GROUP]
        if group.is_there():
            groups.setdefault(group.text(), []).append(pod)
    for name, members in groups.items():
        first = _annotations(members[0])[_GROUP]
        if len(members) != _GROUP_SIZE:
            what = f"is the group of {len(members)} jobs, and Kueue places {_GROUP_SIZE} together"
            yield first.finding(what, name, f"name it on {_GROUP_SIZE} jobs, or remove it")
        elif all(nodes.count(each) != 1 for each in members):
            what = "is a group without a job of one pod"
            yield first.finding(what, name, "one of the two jobs must have one pod")
        yield from _same_levels(*members) if len(members) == _GROUP_SIZE else ()


def _annotations(pod: Pod) -> Value:
    return pod.template.at("metadata", "annotations")


def _same_levels(pod: Pod, other: Pod) -> Iterator[Finding]:
    for each in (_REQUIRED, _PREFERRED):
        level, wanted = _annotations(pod)[each], _annotations(other)[each].text()
        if level.text() != wanted:
            what = f"is not the {wanted or 'nothing'} that the other job of the group asks for"
            yield level.finding(what, level.text(), "write the same on both")


TOPOLOGY_GROUPS: Final = Rule(
    id="topology-groups",
    title="A topology group must consist of two jobs",
    severity=Severity.HIGH,
    kinds=frozenset((names.JOBSET, names.TRAIN_JOB)),
    tags=("scheduling", "kueue", "topology"),
    why="Kueue rejects the JobSet, and a TrainJob that was already admitted waits forever.",
    fix="Assign the group to two jobs, for example a launcher of one pod and its workers.",
    check=_check_groups,
)
"""Kueue 0.19's webhook of JobSets. Of a runtime groups are not judged: its TrainJobs say how many pods
there are.
"""
