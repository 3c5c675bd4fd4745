"""What makes the run of a TrainJob resource that run: its name, and what is another one.

Pure. Only what the user wrote counts, never the rendering (DESIGN.md, rule 2). The names of the inputs are
an API: DESIGN.md, "Names that are an API".
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from trainer_infra import catalog, names
from trainer_infra.api import manifests
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.deploy.operations.output_places import output_places
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import Owner, owner_from_json
from trainer_infra.trainers.code import Code, content_hash

IDENTITY: Final = ("attempt", "namespace", "target", "engine")
"""Inputs that, with spec and code, make a run what it is."""
LONGEST: Final = 54
"""Characters of a resource whose run's name, nine longer, is a DNS label."""
SHORTENED: Final = 36
"""Characters that are left of a longer one: JobSet makes `<run>-node-0-9999-abcde` of it, of at most 63."""
_LEGAL: Final = re.compile("[a-z][-a-z0-9]*")


def owner_of(properties: JSONObject) -> Owner:
    """Who declares, or declared, what a resource makes."""
    return owner_from_json(properties["owner"])


def spec_of_run(spec: JSONObject) -> JSONObject:
    """The part of a spec that makes a run what it is; suspending it does not make it another."""
    return {key: value for key, value in spec.items() if key != "suspend"}


def job_settings(inputs: JSONObject) -> JSONObject:
    """The annotations that change what is rendered; all others can be edited in place."""
    annotations = inputs.get("annotations") or {}
    return {key: annotations[key] for key in names.JOB_SETTINGS if key in annotations}


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
        runtime = manifests.parse(given)
    except InvalidInput as error:
        raise InvalidInput(replace(problem, where=where) for problem in error.problems) from None
    if isinstance(runtime, TrainJob):
        raise InvalidInput([Problem("kind", "must be a runtime", got=runtime.kind, where=where)])
    return runtime


def run_name(inputs: JSONObject, runtime: Runtime) -> str:
    """The given name, or `<resource>-<8 hex of whose it is and what makes the run what it is>`.

    So two stacks of one program have a run each. A resource whose name no run may have gives one that
    reads like it, and is in the digest itself: `lr-0.1` and `lr_0.1` are runs of their own.
    """
    if inputs.get("name"):
        return str(inputs["name"])
    owner, resource = owner_of(inputs), str(inputs["resource"])
    label = _label(resource)
    # A resource that has a legal name keeps the digest of earlier releases.
    apart = [] if label == resource else [resource]
    digest = content_hash([owner.project, owner.stack, content_of(inputs, runtime), *apart])
    return f"{label}-{digest}"


def _label(resource: str) -> str:
    """The resource's name, made one that a run's may begin with where it is none."""
    if _LEGAL.fullmatch(resource) and len(resource) <= LONGEST:
        return resource
    plain = re.sub("[^a-z0-9]+", "-", resource.lower()).strip("-")
    named = plain if plain[:1].isalpha() else f"run-{plain}"
    return named[:SHORTENED].strip("-")


def content_of(inputs: JSONObject, runtime: Runtime) -> str:
    """Eight hex digits of what makes the run what it is."""
    return content_hash(
        [
            spec_of_run(inputs["spec"]),
            _code_of_user(inputs),
            runtime.to_wire(),
            inputs.get("attempt", 1),
            job_settings(inputs),
            *([inputs["outputs"]] if inputs.get("outputs") else []),
        ]
    )


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
        spec_of_run(inputs["spec"]) == spec_of_run(olds.get("spec") or {})
        and inputs.get("name") in (None, olds["name"])
        and _code_of_user(inputs) == _code_of_user(olds)
        and job_settings(inputs) == job_settings(olds)
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
    code = inputs.get("code")
    return Code.from_wire(code).of_the_user() if code else None


def older_runtime(inputs: JSONObject, olds: JSONObject) -> str:
    """A sentence when an unchanged job's runtime is another by now; else empty."""
    if runtime_of(inputs).to_wire() == olds["runtime"]:
        return ""
    name = olds["runtime"]["metadata"]["name"]
    return (
        f"{olds['name']} keeps the runtime it was born with, {name} has changed since; "
        "raise attempt to run it on the new one"
    )
