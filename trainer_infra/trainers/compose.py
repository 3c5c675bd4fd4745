"""A TrainJob, its runtime and its code -> every object of the run.

In this order: runtime snapshot, code, Secret, then what `render` made. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import pipeline, resolve, resources, snapshot
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.draft import Draft
from trainer_infra.trainers import code_mount, package_mounts
from trainer_infra.trainers.code import Code

NO_CACHE: Final = (
    "each pod installs the packages anew at each start; to keep them, run `pulumi config set "
    "trainer:packages ADDRESS` with pvc://CLAIM/PATH, or /PATH, a folder of each node"
)
"""A warning."""


@dataclass(frozen=True, slots=True)
class Composition:
    """A whole run, before it is applied."""

    job: TrainJob
    """The TrainJob with its code attached."""
    runtime: Runtime
    """The runtime it is born with."""
    objects: tuple[JSONObject, ...]
    """Every object, in apply order; values of Secrets are not among them."""
    warnings: tuple[str, ...]
    """What is worth knowing although nothing is wrong."""


def compose(
    job: JSONObject,
    runtime: Runtime,
    code: Code | None,
    secrets: Iterable[str],
    behaviour: Behaviour = OURS,
) -> Composition:
    """Every object of a run. Without code the TrainJob brings its own command; without secrets there is no Secret.

    Raises:
        InvalidInput: holds every problem of the TrainJob on this runtime.
    """
    cache = behaviour.package_cache
    attached, extra = code_mount.attach_code(dict(job), runtime, code, behaviour.plugins, cache)
    for plugin in behaviour.plugins:
        attached = plugin.attach(attached, runtime) if plugin.attach else attached
    typed = TrainJob.from_wire(attached, where=f"TrainJob {job['metadata']['name']}")
    if code and (problem := _missing_workers(code, resolve.first_draft(typed, runtime))):
        raise InvalidInput([problem])
    keys = tuple(secrets)
    secret = (code_mount.secret_object(job["metadata"], keys),) if keys else ()
    others = (snapshot.config_map(typed, runtime), *extra, *secret)
    objects = (
        *pipeline.completed_objects(others, typed, behaviour),
        *pipeline.render(typed, runtime, behaviour),
    )
    said = [*pipeline.rendering_warnings(typed, runtime, behaviour)]
    if code and cache == "" and package_mounts.INSTALLING in code.files:
        said.append(NO_CACHE)
    warnings = tuple(f"TrainJob {typed.metadata.name}: {each}" for each in said)
    return Composition(typed, runtime, objects, warnings)


def _missing_workers(code: Code, draft: Draft) -> Problem | None:
    """That workers would be waited for which never come: the trainer XGBoost is one on each node.

    A runtime counts one for each GPU (reference behaviour 3.5), of which a worker uses one.
    """
    count = resources.accelerators(draft)
    if "xgboost" not in code.policies or count <= 1:
        return None
    return Problem(
        "resources_per_node",
        f"the trainer XGBoost is one worker on each node, which uses one GPU, and a node has {count}",
        fix=f'give a node one, resources_per_node={{"gpu": 1}}, and {count} times as many nodes',
    )
