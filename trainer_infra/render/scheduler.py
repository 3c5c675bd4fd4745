"""The annotation `trainer-infra.dev/scheduler`, and the settings beside it: queue and topology.

Pure. What each scheduler takes stands in its plugin (`phases.Scheduler`), which asks here whether
it is named; `pipeline` collects the problems of all settings. The reference has none of this, and
ignores the annotations. See docs/gang-scheduling.md.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin, Scheduler

LEVELS: Final = (names.REQUIRED_TOPOLOGY, names.PREFERRED_TOPOLOGY)
"""Settings that name a level of a topology."""
_LABEL_VALUE: Final = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def is_named(draft: Draft, scheduler: Scheduler) -> bool:
    """Whether the annotation of the TrainJob or its runtime chooses that scheduler."""
    chosen = draft.setting(names.SCHEDULER)
    return chosen == scheduler.annotation and draft.ours(Deviation.SCHEDULER)


def setting_problems(draft: Draft, plugins: Iterable[Plugin]) -> Iterable[Problem]:
    """Settings that no scheduler among the plugins, or not the named one, understands."""
    given = [each for each in names.JOB_SETTINGS if draft.setting(each) is not None]
    if not given or not draft.ours(Deviation.SCHEDULER):
        return
    schedulers = by_annotation(plugins)
    value = draft.setting(names.SCHEDULER)
    chosen = None if value is None else schedulers.get(value)
    if value is not None and chosen is None:
        fix = f"write one of {', '.join(schedulers)}"
        yield setting_problem(draft, names.SCHEDULER, "names no scheduler that is known here", fix)
        return
    for key in given:
        if key == names.SCHEDULER:
            continue
        if chosen is None:
            fix = f"name the scheduler: {names.SCHEDULER}: {' | '.join(schedulers)}"
            yield setting_problem(draft, key, f"has no effect without {names.SCHEDULER}", fix)
        else:
            yield from _setting_problems(draft, key, chosen)
    policy = draft.pod_group_policy
    if chosen and chosen.makes_gang and (policy.coscheduling or policy.volcano):
        yield Problem(
            "spec.podGroupPolicy",
            f"cannot be combined with {names.SCHEDULER}: {value}, which makes the gang itself",
            fix="remove one of them: a pod has one scheduler",
            where=f"{draft.runtime.kind} {draft.runtime.metadata.name}",
        )


def by_annotation(plugins: Iterable[Plugin]) -> Mapping[str, Scheduler]:
    """The schedulers that the annotation can choose, by its value, in run order."""
    schedulers = (each.scheduler for each in plugins if each.scheduler is not None)
    return {each.annotation: each for each in schedulers if each.annotation}


def topology_levels(draft: Draft) -> tuple[str, ...]:
    """The settings with a level of the topology that the TrainJob or its runtime has."""
    return tuple(each for each in LEVELS if draft.setting(each) is not None)


def settings_as(theirs: Mapping[str, str], draft: Draft) -> dict[str, str]:
    """The settings that are given, by the annotation that a scheduler has for each."""
    return {each: value for ours, each in theirs.items() if (value := draft.setting(ours))}


def setting_problem(draft: Draft, key: str, what: str, fix: str) -> Problem:
    """What is wrong with one of the settings, said of the object that it stands on."""
    on_job = key in (draft.job.metadata.annotations or {})
    where = "" if on_job else f"{draft.runtime.kind} {draft.runtime.metadata.name}"
    return Problem(
        f"metadata.annotations[{key}]", what, got=draft.setting(key), fix=fix, where=where
    )


def _setting_problems(draft: Draft, key: str, chosen: Scheduler) -> Iterable[Problem]:
    if key not in chosen.settings:
        yield setting_problem(draft, key, f"is not a setting of {chosen.annotation}", "remove it")
    elif key == names.QUEUE and not _LABEL_VALUE.fullmatch(draft.setting(key) or ""):
        what = "must be up to 63 letters, digits, -, _ and ., because it becomes a label"
        yield setting_problem(draft, key, what, "write the queue's name")
    elif not draft.setting(key):
        yield setting_problem(draft, key, "must not be empty", "write a name or remove it")
