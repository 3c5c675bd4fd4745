"""The annotation `trainer-infra.dev/scheduler`: KAI, YuniKorn or Kueue, its queue and topology.

Pure; the plugins kai, yunikorn and kueue ask whether they are named, `pipeline` collects the
problems of all settings. The reference has none of this, and ignores the annotations.
See docs/gang-scheduling.md.
"""

import re
from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft

TAKES: Final = {
    names.KAI: (
        names.QUEUE,
        names.TOPOLOGY,
        names.REQUIRED_TOPOLOGY,
        names.PREFERRED_TOPOLOGY,
    ),
    names.YUNIKORN: (names.QUEUE,),
    names.KUEUE: (names.QUEUE, names.REQUIRED_TOPOLOGY, names.PREFERRED_TOPOLOGY),
}
"""The settings of each scheduler."""

KUEUE_LEVELS: Final = {
    names.REQUIRED_TOPOLOGY: names.KUEUE_REQUIRED_TOPOLOGY,
    names.PREFERRED_TOPOLOGY: names.KUEUE_PREFERRED_TOPOLOGY,
}
"""Kueue's annotation of a pod template for each of our levels."""

_SETTINGS: Final = (
    names.QUEUE,
    names.TOPOLOGY,
    names.REQUIRED_TOPOLOGY,
    names.PREFERRED_TOPOLOGY,
)
_LEVELS: Final = (names.REQUIRED_TOPOLOGY, names.PREFERRED_TOPOLOGY)
_LABEL_VALUE: Final = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def named(draft: Draft, scheduler: str) -> bool:
    """Whether the TrainJob or its runtime asks for that scheduler."""
    return draft.setting(names.SCHEDULER) == scheduler and draft.ours(Deviation.SCHEDULER)


def problems(draft: Draft) -> Iterable[Problem]:
    """Settings that no scheduler, or not the named one, understands."""
    if not draft.ours(Deviation.SCHEDULER):
        return
    chosen = draft.setting(names.SCHEDULER)
    if chosen is not None and chosen not in TAKES:
        fix = f"write one of {', '.join(TAKES)}"
        yield _problem(draft, names.SCHEDULER, "names no scheduler that is known here", fix)
        return
    taken = TAKES[chosen] if chosen else ()
    for key in _SETTINGS:
        if draft.setting(key) is not None:
            yield from _of_setting(draft, key, chosen, known=key in taken)
    if chosen:
        yield from _of_combination(draft, chosen)


def _of_setting(draft: Draft, key: str, chosen: str | None, *, known: bool) -> Iterable[Problem]:
    if chosen is None:
        fix = f"name the scheduler: {names.SCHEDULER}: {' | '.join(TAKES)}"
        yield _problem(draft, key, f"has no effect without {names.SCHEDULER}", fix)
    elif not known:
        yield _problem(draft, key, f"is not a setting of {chosen}", "remove it")
    elif key == names.QUEUE and not _LABEL_VALUE.fullmatch(draft.setting(key) or ""):
        what = "must be up to 63 letters, digits, -, _ and ., because it becomes a label"
        yield _problem(draft, key, what, "write the queue's name")
    elif not draft.setting(key):
        yield _problem(draft, key, "must not be empty", "write a name or remove it")


def _of_combination(draft: Draft, chosen: str) -> Iterable[Problem]:
    policy = draft.runtime.spec.pod_group_policy
    if chosen != names.KUEUE and policy and (policy.coscheduling or policy.volcano):
        yield Problem(
            "spec.podGroupPolicy",
            f"cannot be combined with {names.SCHEDULER}: {chosen}, which makes the gang itself",
            fix="remove one of them: a pod has one scheduler",
            where=f"{draft.runtime.kind} {draft.runtime.metadata.name}",
        )
    if chosen == names.KAI:
        yield from _of_kai(draft)
    if chosen == names.KUEUE:
        yield from _of_kueue(draft)


def _of_kai(draft: Draft) -> Iterable[Problem]:
    levels = _levels(draft)
    if draft.setting(names.TOPOLOGY) is None:
        for each in levels:
            what = f"needs {names.TOPOLOGY}, the name of a KAI Topology"
            yield _problem(draft, each, what, "add it")
    elif not levels:
        what = "needs a level of the topology"
        yield _problem(draft, names.TOPOLOGY, what, f"add {' or '.join(_LEVELS)}")


def _of_kueue(draft: Draft) -> Iterable[Problem]:
    queue = draft.setting(names.QUEUE)
    if queue is None:
        fix = f"add {names.QUEUE} with the name of a LocalQueue"
        yield _problem(draft, names.SCHEDULER, "needs a queue", fix)
    levels = _levels(draft)
    if len(levels) > 1:
        what = f"cannot be combined with {names.REQUIRED_TOPOLOGY} in Kueue"
        yield _problem(draft, names.PREFERRED_TOPOLOGY, what, "remove one of them")
    if draft.job.metadata.uid is not None:
        yield from _of_stored(draft, queue, levels)


def _of_stored(draft: Draft, queue: str | None, levels: list[str]) -> Iterable[Problem]:
    """Kueue reads a stored TrainJob itself and renders its pods with the reference's code."""
    label = (draft.job.metadata.labels or {}).get(names.KUEUE_QUEUE_LABEL)
    if queue is not None and label != queue:
        yield Problem(
            f"metadata.labels[{names.KUEUE_QUEUE_LABEL}]",
            "must name the queue: Kueue reads it where the TrainJob is stored in a cluster",
            got=label,
            fix=f"add the label with the value {queue}",
        )
    for each in levels:
        yield _problem(
            draft,
            each,
            "is not seen by Kueue where the TrainJob is stored in a cluster",
            f"put {KUEUE_LEVELS[each]} on the pods, in the runtime or in spec.runtimePatches",
        )


def _levels(draft: Draft) -> list[str]:
    return [each for each in _LEVELS if draft.setting(each) is not None]


def _problem(draft: Draft, key: str, what: str, fix: str) -> Problem:
    on_job = key in (draft.job.metadata.annotations or {})
    where = "" if on_job else f"{draft.runtime.kind} {draft.runtime.metadata.name}"
    return Problem(
        f"metadata.annotations[{key}]", what, got=draft.setting(key), fix=fix, where=where
    )
