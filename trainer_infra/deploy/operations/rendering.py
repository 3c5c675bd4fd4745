"""Inputs of a TrainJob resource -> every object of its run, before anything is created. Pure.

A check shows what `preview_run` gives, at preview and at deployment; a create asks `compose_run`
again and so submits exactly what was shown. Called by `operations`, and by
`crossguard.remediation` where a policy has changed inputs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.deploy.operations import declared_run
from trainer_infra.deploy.operations.declared_run import owner_of, runtime_of
from trainer_infra.deploy.operations.leaked_secrets import leaked_secrets
from trainer_infra.deploy.operations.output_places import output_places
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.render import plugin_registry
from trainer_infra.runs.target import Target
from trainer_infra.trainers import compose, kept_outputs
from trainer_infra.trainers.compose import Composition


@dataclass(frozen=True, slots=True)
class Preview:
    """What is known of a TrainJob before deployment."""

    inputs: JSONObject
    """The inputs with name, runtime and rendering filled in."""
    warnings: tuple[str, ...]
    """What is worth knowing of a new run although nothing is wrong."""


def preview_run(inputs: JSONObject, olds: JSONObject, target: Target) -> Preview:
    """Everything that can be known before deployment.

    When what makes the run what it is did not change since `olds`, the job keeps the name, the
    runtime and the rendering it was born with: a new release or an edited runtime retrains nothing
    and changes nothing (design rule 2).

    Raises:
        InvalidInput: holds every problem that can be known before deployment.
    """
    same = declared_run.is_same_run(inputs, olds)
    if same:
        name, runtime = str(olds["name"]), runtime_of(olds)
        inputs = {**inputs, **{key: olds.get(key) for key in ("code", "plugins", "outputs")}}
    else:
        runtime = runtime_of(inputs)
        name = declared_run.name_of(inputs, runtime)
    if inputs.get("outputs"):
        inputs = {**inputs, "outputs": output_places(inputs, name)}
    run = compose_run(inputs, name, runtime, target)
    shown = by_role(run.objects, name)
    leaks = tuple(leaked_secrets(inputs, shown))
    packages = (inputs.get("code") or {}).get("packages") or ()
    impossible = target.problems(run.job.to_wire(), run.objects, packages)
    if leaks or impossible:
        raise InvalidInput((*leaks, *impossible))
    if same and _is_shown_alike(inputs, olds):
        shown = olds["rendered"]
    filled = {**inputs, "name": name, "runtime": runtime.to_wire(), "rendered": shown}
    plain = {key: value for key, value in filled.items() if value is not None}
    return Preview(plain, () if same else run.warnings)


def compose_run(inputs: JSONObject, name: str, runtime: Runtime, target: Target) -> Composition:
    """Every object of the run, as its target writes it; its outputs have their places by now.

    Raises:
        InvalidInput: holds every problem of the TrainJob on this runtime.
    """
    job = declared_run.wire_object(names.TRAIN_JOB, {**inputs, "name": name})
    plugins = plugin_registry.plugins_with(inputs.get("plugins") or ())
    job = kept_outputs.attach_outputs(job, runtime, inputs.get("outputs") or {}, plugins)
    secrets = sorted(inputs.get("secretData") or {})
    behaviour = target.behaviour(plugins, owner_of(inputs))
    return compose.compose(job, runtime, declared_run.code_of(inputs), secrets, behaviour)


def by_role(objects: Iterable[JSONObject], job: str) -> dict[str, JSONObject]:
    """The objects by the role they have for the job, so that a diff compares like with like."""
    return {_role(each, job): each for each in objects}


def _role(item: JSONObject, prefix: str) -> str:
    rest = str(item["metadata"]["name"]).removeprefix(prefix).lstrip("-")
    suffix = re.sub(r"-[0-9a-f]{8}$", "", rest)
    return f"{item['kind']}-{suffix}" if suffix else str(item["kind"])


def _is_shown_alike(inputs: JSONObject, olds: JSONObject) -> bool:
    """Whether what may change in place leaves the rendering of an unchanged run as it is."""
    keys = ("labels", "annotations")
    secrets = [sorted(each.get("secretData") or {}) for each in (inputs, olds)]
    suspends = [bool(each["spec"].get("suspend")) for each in (inputs, olds)]
    return (
        all(inputs.get(key) == olds.get(key) for key in keys)
        and replace(owner_of(inputs), backend="") == replace(owner_of(olds), backend="")
        and secrets[0] == secrets[1]
        and suspends[0] == suspends[1]
        and "rendered" in olds
    )
