"""Inputs of a TrainJob resource -> every object of its run, before anything is created. Pure.

A check shows what `preview_run` gives, at preview and at deployment; a create asks `compose_run`
again and so submits exactly what was shown.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.deploy.operations import declared_run
from trainer_infra.deploy.operations.declared_run import runtime_of
from trainer_infra.deploy.operations.leaked_secrets import leaked_secrets
from trainer_infra.deploy.operations.output_places import output_places, place_of
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.stored_runtime import UNKNOWN, StoredRuntime
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.render import plugin_registry
from trainer_infra.render.deviation import Deviation
from trainer_infra.runs.target import Target
from trainer_infra.trainers import (
    adapter_base,
    claim_volumes,
    compose,
    initializer_uris,
    kept_outputs,
    program_inputs,
)
from trainer_infra.trainers.compose import Composition

_BORN_WITH: Final = ("code", "plugins", "outputs", "controller", "packagesAt")
"""What a run keeps, besides name and runtime."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What is known of a TrainJob before deployment."""

    inputs: TrainJobProperties
    """The inputs with name, runtime and rendering filled in."""
    warnings: tuple[str, ...]
    """What is worth knowing of a new run although nothing is wrong."""


def preview_run(
    job: TrainJobProperties,
    born: TrainJobProperties,
    target: Target,
    stored: StoredRuntime = UNKNOWN,
) -> Preview:
    """Everything that can be known before deployment.

    When what makes the run what it is did not change since it was born, the job keeps the name, the
    runtime and the rendering it was born with: a new release or an edited runtime retrains nothing
    and changes nothing (design rule 2).

    Raises:
        InvalidInput: holds every problem that can be known before deployment.
    """
    same = declared_run.is_same_run(job, born)
    if same:
        name, runtime = born.name, runtime_of(born)
        job = job.with_values(**{key: born.json.get(key) for key in _BORN_WITH})
    else:
        runtime = stored.runtime or runtime_of(job)
        name = declared_run.name_of(job, runtime)
        job = job.with_values(controller=stored.controller or None)
    if job.outputs:
        job = job.with_values(outputs=output_places(job, name))
    run = compose_run(job, name, runtime, target)
    shown: Mapping[str, JSONObject] = by_role(run.objects, name)
    leaks = tuple(leaked_secrets(job, shown))
    wire = run.job.to_wire()
    missing = kept_outputs.missing_outputs(wire, job.code, job.outputs)
    unwritten = kept_outputs.unwritten_outputs(wire, job.outputs)
    # A run that goes on as it is has found its data, or has not.
    unreadable = () if same else initializer_uris.unreadable_uris(wire, runtime)
    unfetched = () if same else program_inputs.unfetched_inputs(wire, job.code, run.objects)
    impossible = (
        *missing,
        *unwritten,
        *unreadable,
        *unfetched,
        *target.problems(wire, run.objects, job.controller),
    )
    if leaks or impossible:
        raise InvalidInput((*leaks, *impossible))
    if same and _is_shown_alike(job, born):
        shown = born.rendered
    filled = {**job.json, "name": name, "runtime": runtime.to_wire(), "rendered": shown}
    plain = {key: value for key, value in filled.items() if value is not None}
    remarks = (
        *program_inputs.missing_inputs(wire, job.code, run.objects),
        *initializer_uris.seen_folders(wire, runtime),
    )
    lacks = (f"TrainJob {name}: {each}" for each in remarks)
    said = (*filter(None, [stored.remark]), *run.warnings, *lacks)
    return Preview(TrainJobProperties(plain), () if same else said)


def compose_run(
    properties: TrainJobProperties, name: str, runtime: Runtime, target: Target
) -> Composition:
    """Every object of the run, as its target writes it; its outputs have their places by now.

    Raises:
        InvalidInput: holds every problem of the TrainJob on this runtime.
    """
    job = properties.with_values(name=name).wire_object(names.TRAIN_JOB)
    plugins = plugin_registry.plugins_with(properties.plugins)
    job = kept_outputs.attach_outputs(job, runtime, properties.outputs, plugins)
    job = kept_outputs.with_output_dir(job, properties.outputs)
    job = adapter_base.with_model_uri(job, properties.code)
    place = partial(place_of, properties)
    job = adapter_base.with_adapter_claim(job, runtime, properties.code, place, plugins)
    job = claim_volumes.attach_claims(job, runtime, place)
    behaviour = target.behaviour(plugins, properties.owner, properties.controller)
    secrets = sorted(properties.secret_data)
    behaviour = replace(behaviour, package_cache=properties.packages_at)
    if not behaviour.ours(Deviation.TORCHTUNE):
        job = kept_outputs.as_the_reference_takes_it(job, runtime)
    return compose.compose(job, runtime, properties.code, secrets, behaviour)


def by_role(objects: Iterable[JSONObject], job: str) -> dict[str, JSONObject]:
    """The objects by the role they have for the job, so that a diff compares like with like."""
    return {_role(each, job): each for each in objects}


def _role(item: JSONObject, prefix: str) -> str:
    rest = str(item["metadata"]["name"]).removeprefix(prefix).lstrip("-")
    suffix = re.sub(r"-[0-9a-f]{8}$", "", rest)
    return f"{item['kind']}-{suffix}" if suffix else str(item["kind"])


def _is_shown_alike(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether what may change in place leaves the rendering of an unchanged run as it is."""
    return (
        all(now.json.get(key) == born.json.get(key) for key in ("labels", "annotations"))
        and replace(now.owner, backend="") == replace(born.owner, backend="")
        and now.secret_data.keys() == born.secret_data.keys()
        and now.is_suspended == born.is_suspended
        and "rendered" in born.json
    )
