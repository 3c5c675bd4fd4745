"""The run that inputs of a TrainJob declare: whose it is, its runtime and name, and which it is.

Pure. What makes a run what it is stands in `runs.identity`; here it is asked of inputs and of a
state. Only what the user wrote counts, never the rendering (design rule 2). The names of the
inputs are an API: design "Names that are an API".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from trainer_infra import catalog, names
from trainer_infra.api import manifests
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.deploy.operations.output_places import output_places
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import identity
from trainer_infra.runs.run import Owner, owner_from_json
from trainer_infra.trainers.code import Code

IDENTITY: Final = ("attempt", "namespace", "target", "engine")
"""Inputs that, with spec and code, make a run what it is."""


def owner_of(properties: JSONObject) -> Owner:
    """Who declares, or declared, what a resource makes."""
    return owner_from_json(properties["owner"])


def wire_object(kind: str, properties: JSONObject) -> dict[str, Any]:
    """The TrainJob or the runtime that properties of a resource say, as a manifest would."""
    keys = ("name", "namespace", "labels", "annotations")
    return {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "metadata": {key: properties[key] for key in keys if properties.get(key)},
        "spec": properties.get("spec") or {},
    }


def runtime_of(inputs: JSONObject) -> Runtime:
    """The runtime: inline as it was given, otherwise the catalog's of the name in the spec.

    Raises:
        InvalidInput: It is in neither place, or is not a runtime.
    """
    given = inputs.get("runtime")
    if given is None:
        reference = (inputs.get("spec") or {}).get("runtimeRef") or {}
        return catalog.get(str(reference.get("name")))
    where = f"runtime {(given.get('metadata') or {}).get('name', '')}".strip()
    try:
        runtime = manifests.parse_object(given)
    except InvalidInput as error:
        raise InvalidInput(replace(problem, where=where) for problem in error.problems) from None
    if isinstance(runtime, TrainJob):
        raise InvalidInput([Problem("kind", "must be a runtime", got=runtime.kind, where=where)])
    return runtime


def name_of(inputs: JSONObject, runtime: Runtime) -> str:
    """The given name, else one by its identity."""
    if inputs.get("name"):
        return str(inputs["name"])
    content = content_of(inputs, runtime)
    return identity.run_name(str(inputs["resource"]), owner_of(inputs), content)


def content_of(inputs: JSONObject, runtime: Runtime) -> str:
    """Eight hex digits of what makes the run what it is."""
    job = {"spec": inputs["spec"], "metadata": {"annotations": inputs.get("annotations")}}
    return identity.content(
        job,
        code_of(inputs),
        runtime.to_wire(),
        attempt=inputs.get("attempt", 1),
        outputs=inputs.get("outputs"),
    )


def settings_of(inputs: JSONObject) -> JSONObject:
    """The annotations of the job that change what is rendered."""
    return identity.job_settings(inputs.get("annotations") or {})


def code_of(inputs: JSONObject) -> Code | None:
    """What the trainer packed; None where the job brings its own command."""
    return Code.from_wire(inputs["code"]) if inputs.get("code") else None


def is_same_run(inputs: JSONObject, olds: JSONObject) -> bool:
    """Whether both say the same run."""
    return _same_but_for_runtime(inputs, olds) and _same_runtime(inputs, olds)


def is_of_another_runtime(inputs: JSONObject, olds: JSONObject) -> bool:
    """Whether nothing makes another run of it but the runtime that stands in the program."""
    return _same_but_for_runtime(inputs, olds) and not _same_runtime(inputs, olds)


def _same_but_for_runtime(inputs: JSONObject, olds: JSONObject) -> bool:
    if not olds.get("name") or not olds.get("runtime"):
        return False
    return (
        identity.identity_of_spec(inputs["spec"])
        == identity.identity_of_spec(olds.get("spec") or {})
        and inputs.get("name") in (None, olds["name"])
        and _code_of_user(inputs) == _code_of_user(olds)
        and settings_of(inputs) == settings_of(olds)
        and _same_outputs(inputs, olds)
        and all(inputs.get(key) == olds.get(key) for key in IDENTITY)
    )


def _same_outputs(inputs: JSONObject, olds: JSONObject) -> bool:
    """Whether a run has the outputs that are given; a place that is not given is free."""
    given, kept = inputs.get("outputs") or {}, olds.get("outputs") or {}
    if not isinstance(given, Mapping):
        return False
    named = {key: each for key, each in given.items() if each}
    now = output_places({**inputs, "outputs": named}, str(olds["name"]))
    return given.keys() == kept.keys() and all(kept[key] == now[key] for key in now)


def _same_runtime(inputs: JSONObject, olds: JSONObject) -> bool:
    """Whether a runtime that stands in the program is the one that the job was born with.

    One of the catalog, or of a resource, changes without the job: then the job keeps its own.
    """
    if inputs.get("runtime") is None or inputs.get("runtimeResource"):
        return True
    now, born = runtime_of(inputs), runtime_of(olds)
    if now == born or now.metadata.name != born.metadata.name:
        return now == born
    return any(
        each.name == now.metadata.name and each.runtime() == now for each in catalog.RUNTIMES
    )


def _code_of_user(inputs: JSONObject) -> JSONObject | None:
    """The user's part of the code: our launcher changes with a release, which retrains nothing."""
    code = code_of(inputs)
    return code.of_the_user() if code else None


def older_runtime(inputs: JSONObject, olds: JSONObject) -> str:
    """A sentence when an unchanged job's runtime is another by now; else empty."""
    if runtime_of(inputs).to_wire() == olds["runtime"]:
        return ""
    name = olds["runtime"]["metadata"]["name"]
    return (
        f"{olds['name']} keeps the runtime it was born with, {name} has changed since; "
        "raise attempt to run it on the new one"
    )
