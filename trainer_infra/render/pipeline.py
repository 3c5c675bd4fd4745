"""`render`: the one loop over phases and plugins.

Pure; called by `lifecycle.plan`, by the Pulumi provider's check and by the command line. Returns
the objects in apply order, or raises every problem of the TrainJob at once.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.render import not_rendered, resolve, runtime_ref
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import ENFORCING, Plugin
from trainer_infra.render.plugins import PLUGINS

JSON = Mapping[str, Any]


def render(
    job: TrainJob,
    runtime: Runtime,
    *,
    like_reference: bool = False,
    plugins: tuple[Plugin, ...] = PLUGINS,
) -> tuple[JSON, ...]:
    """The objects of a TrainJob on a runtime, in apply order: the JobSet is the last.

    The runtime snapshot is not among them, see `snapshot`. Neither argument is changed.

    Raises:
        InvalidInput: The TrainJob cannot run on the runtime; holds every problem.
    """
    draft = resolve.draft(job, runtime, like_reference=like_reference)
    active = tuple(plugin for plugin in plugins if plugin.applies(draft))
    found = tuple(_problems(draft, active))
    if found:
        raise InvalidInput(found)
    for phase in ENFORCING:
        for plugin in active:
            enforce = getattr(plugin, phase)
            draft = draft if enforce is None else enforce(draft)
    return tuple(each for plugin in active if plugin.build for each in plugin.build(draft))


def _problems(draft: Draft, active: Iterable[Plugin]) -> Iterable[Problem]:
    where = f"TrainJob {draft.job.metadata.name}"
    yield from (_at(where, each) for each in runtime_ref.problems(draft))
    yield from (_at(where, each) for each in not_rendered.problems(draft))
    for plugin in active:
        if plugin.validate:
            yield from (_at(where, each) for each in plugin.validate(draft))


def _at(where: str, problem: Problem) -> Problem:
    return Problem(problem.path, problem.what, problem.got, problem.fix, problem.where or where)
