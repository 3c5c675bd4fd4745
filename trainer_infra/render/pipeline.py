"""`render`: the one loop over phases and plugins.

Pure. Returns the objects in apply order, or raises every problem of the TrainJob at once.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from itertools import chain, islice

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import MOST_PROBLEMS, InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import (
    child_metadata,
    launch_warnings,
    pod_metadata,
    resolve,
    resources,
    runtime_patches,
    runtime_ref,
    scheduler,
    ttl_seconds_after_finished,
)
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import ENFORCING, Plugin


def render(
    job: TrainJob,
    runtime: Runtime,
    behaviour: Behaviour = OURS,
) -> tuple[JSONObject, ...]:
    """The objects of a TrainJob on a runtime, in apply order: the JobSet is the last.

    The runtime snapshot is not among them, see `snapshot`. Contents that are made at create are
    `names.GENERATED_SHOWN`. A TrainJob that has a UID owns its objects. No argument is changed.

    Raises:
        InvalidInput: The TrainJob cannot run on the runtime; holds every problem.
    """
    draft, active = _enforced(job, runtime, behaviour)
    built = (each for plugin in active for each in _built(plugin, draft))
    return completed_objects(built, job, behaviour)


def refused_objects(
    job: TrainJob, runtime: Runtime, behaviour: Behaviour = OURS
) -> tuple[JSONObject, ...]:
    """The objects of a TrainJob that `render` may refuse, for who judges it all the same.

    Raises:
        InvalidInput: They cannot be made.
    """
    draft, active = _drafted(job, runtime, behaviour)
    draft = _after_phases(draft, active)
    return tuple(each for plugin in active for each in _built(plugin, draft))


def due_objects(
    job: TrainJob,
    runtime: Runtime,
    observed: ObservedObjects,
    behaviour: Behaviour = OURS,
) -> tuple[JSONObject, ...]:
    """Those objects of `render` that are written now, given what is there.

    Raises:
        InvalidInput: As `render`.
    """
    draft, active = _enforced(job, runtime, behaviour)
    built = (
        each
        for plugin in active
        for each in _built(plugin, draft)
        if plugin.should_write is None or plugin.should_write(each, job, observed)
    )
    return completed_objects(built, job, behaviour)


def completed_objects(
    objects: Iterable[JSONObject], job: TrainJob, behaviour: Behaviour = OURS
) -> tuple[JSONObject, ...]:
    """Objects of a run as they are stored: with what the plugins of an engine add to each."""
    steps = [plugin.complete for plugin in behaviour.plugins if plugin.complete is not None]
    if not steps:
        return tuple(objects)
    return tuple(reduce(lambda value, add: add(value, job), steps, each) for each in objects)


def rendering_problems(
    job: TrainJob,
    runtime: Runtime,
    behaviour: Behaviour = OURS,
) -> tuple[Problem, ...]:
    """What makes `render` refuse a TrainJob on a runtime: of both, then of each plugin in order."""
    return tuple(_problems(*_drafted(job, runtime, behaviour), behaviour.plugins))


def rendering_warnings(
    job: TrainJob, runtime: Runtime, behaviour: Behaviour = OURS
) -> tuple[str, ...]:
    """What is worth knowing of a TrainJob on a runtime although nothing is wrong."""
    deprecated = runtime_ref.is_deprecated(runtime)
    draft, _ = _drafted(job, runtime, behaviour)
    return (
        *((f"Referenced {runtime_ref.deprecation_sentence(runtime)}",) if deprecated else ()),
        *(runtime_patches.conflict_sentences(job) if behaviour.ours(Deviation.PATCHES) else ()),
        *(resources.uncounted_sentences(draft) if behaviour.ours(Deviation.Q6) else ()),
        *islice(_told(job, runtime, behaviour), MOST_PROBLEMS),
    )


def _told(job: TrainJob, runtime: Runtime, behaviour: Behaviour) -> Iterable[str]:
    """What would not happen although it is written: metadata for pods, volumes, commands on all nodes."""
    if not behaviour.ours(Deviation.LAUNCH):
        return
    yield from pod_metadata.metadata_sentences(job)
    try:
        objects = render(job, runtime, behaviour)
    except InvalidInput:
        return
    for each in objects:
        if each["kind"] == names.JOBSET:
            yield from launch_warnings.volume_sentences(each)
            yield from launch_warnings.launch_sentences(job, runtime, each)


def _drafted(
    job: TrainJob, runtime: Runtime, behaviour: Behaviour
) -> tuple[Draft, tuple[Plugin, ...]]:
    """The draft before any plugin has seen it, and the plugins that take part."""
    draft = resolve.first_draft(job, runtime, behaviour.deviations)
    return draft, tuple(plugin for plugin in behaviour.plugins if plugin.applies(draft))


def _enforced(
    job: TrainJob, runtime: Runtime, behaviour: Behaviour
) -> tuple[Draft, tuple[Plugin, ...]]:
    draft, active = _drafted(job, runtime, behaviour)
    found = tuple(_problems(draft, active, behaviour.plugins))
    if found:
        raise InvalidInput(found)
    return _after_phases(draft, active), active


def _after_phases(draft: Draft, active: Iterable[Plugin]) -> Draft:
    for phase in ENFORCING:
        for plugin in active:
            enforce = getattr(plugin, phase)
            draft = draft if enforce is None else enforce(draft)
    return draft


def _built(plugin: Plugin, draft: Draft) -> Iterable[JSONObject]:
    objects = plugin.build(draft) if plugin.build else ()
    return (child_metadata.with_owner(each, draft.job) for each in objects)


def _problems(
    draft: Draft, active: Iterable[Plugin], plugins: Iterable[Plugin]
) -> Iterable[Problem]:
    found = chain(
        runtime_ref.runtime_ref_problems(draft),
        scheduler.setting_problems(draft, plugins),
        ttl_seconds_after_finished.ttl_problems(draft),
        *(plugin.validate(draft) for plugin in active if plugin.validate),
    )
    where = f"TrainJob {draft.job.metadata.name}"
    return (replace(each, where=each.where or where) for each in found)
