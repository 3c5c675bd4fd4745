"""The run that inputs of a TrainJob declare: its runtime, its name, where its outputs are, and which it is.

Pure. What makes a run what it is stands in `runs.identity`; here it is asked of inputs and of a
state. Only what the user wrote counts, never the rendering (design rule 2). The names of the
inputs are an API: design "Names that are an API".
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from trainer_infra import catalog, home_folders, names
from trainer_infra.api import checkpoint, manifests
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.values import differing
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import identity
from trainer_infra.trainers import checkpoints, kept_outputs

IDENTITY: Final = ("attempt", "namespace", "target", "engine")
"""Inputs that, with spec and code, make a run what it is."""
SIZE: Final = ("numNodes", "numProcPerNode", "resourcesPerNode")
"""Fields of spec.trainer that say how many processes it has, and on what."""


Reader: TypeAlias = Callable[[JSONObject], TrainJob | Runtime]
"""How a runtime is read: one that was stored is not refused for pods that no cluster takes."""


def runtime_of(job: TrainJobProperties, read: Reader = manifests.stored_object) -> Runtime:
    """The runtime: inline as it was given, otherwise the catalog's of the name in the spec.

    Raises:
        InvalidInput: It is in neither place, or is not a runtime.
    """
    if job.runtime is None:
        return catalog.get(str((job.spec.get("runtimeRef") or {}).get("name")))
    return read_runtime(job.runtime, read)


def read_runtime(given: JSONObject, read: Reader = manifests.stored_object) -> Runtime:
    """A runtime in wire form.

    Raises:
        InvalidInput: It is not a runtime.
    """
    where = f"runtime {(given.get('metadata') or {}).get('name', '')}".strip()
    try:
        runtime = read(given)
    except InvalidInput as error:
        raise InvalidInput(replace(problem, where=where) for problem in error.problems) from None
    if isinstance(runtime, TrainJob):
        raise InvalidInput([Problem("kind", "must be a runtime", got=runtime.kind, where=where)])
    return runtime


def name_of(job: TrainJobProperties, runtime: Runtime) -> str:
    """The given name, else one by its identity: with a checkpoint the same one for any number of processes.

    So one that has more or fewer of them takes the place of the run before, and goes on from its checkpoints.
    """
    if job.name:
        return job.name
    trainer = job.spec.get("trainer") or {}
    of = job
    if checkpoints.variable_text(trainer):
        rest = {key: each for key, each in trainer.items() if key not in SIZE}
        code = {**(job.json.get("code") or {}), "leastNodes": 0}
        of = job.with_values(spec={**job.spec, "trainer": rest}, code=code if job.code else None)
    return identity.run_name(job.resource, job.owner, content_of(of, runtime))


def goes_on_sentence(now: TrainJobProperties, born: TrainJobProperties) -> str:
    """That a run goes on from the checkpoints of the one that it replaces; empty where there is none of that.

    It is so where both have one name and one place: a run with that name takes them for its own.
    """
    said = checkpoint.said_of(checkpoints.variable_text(now.spec.get("trainer") or {})) or {}
    name = str(said.get("place", "")).removeprefix(checkpoint.OUTPUT)
    place = now.outputs.get(name)
    if (
        not place
        or place != born.outputs.get(name)
        or differing(("name", *IDENTITY), now.json, born.json)
    ):
        return ""
    return f"the run of this name is ended first, and the new one goes on from its newest checkpoint, in {place}"


def content_of(job: TrainJobProperties, runtime: Runtime) -> str:
    """Eight hex digits of what makes the run what it is.

    With engine `controller` the TrainJob only names its runtime, and what that is stands in the cluster:
    a run must not have another name because the cluster could not be asked for it.
    """
    is_clusters = job.engine == targets.CONTROLLER
    return identity.content(
        {"spec": job.spec, "metadata": {"annotations": job.json.get("annotations")}},
        job.code,
        {} if is_clusters else runtime.to_wire(),
        attempt=job.attempt,
        outputs=job.json.get("outputs"),
    )


def settings_of(job: TrainJobProperties) -> JSONObject:
    """The annotations of the job that change what is rendered."""
    return identity.job_settings(job.annotations)


def is_same_run(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether both say the same run."""
    return _same_but_for_runtime(now, born) and _same_runtime(now, born)


def is_of_another_runtime(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether nothing makes another run of it but the runtime that stands in the program."""
    return _same_but_for_runtime(now, born) and not _same_runtime(now, born)


def _same_but_for_runtime(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    if not born.name or not born.runtime:
        return False
    return (
        identity.identity_of_spec(now.spec) == identity.identity_of_spec(born.spec)
        and _code_of_user(now) == _code_of_user(born)
        and is_declared_alike(now, born)
    )


def is_declared_alike(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether both have one name, place and attempt, and the same outputs: spec, code and runtime may differ."""
    return (
        now.json.get("name") in (None, born.name)
        and settings_of(now) == settings_of(born)
        and _same_outputs(now, born)
        and not differing(IDENTITY, now.json, born.json)
    )


def _same_outputs(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether a run has the outputs that are given; a place that is not given is free."""
    given, kept = now.outputs, born.outputs
    if not isinstance(given, Mapping):
        return False
    named = {key: each for key, each in given.items() if each}
    places = output_places(now.with_values(outputs=named), born.name)
    return given.keys() == kept.keys() and all(kept[key] == places[key] for key in places)


def _same_runtime(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether a runtime that stands in the program is the one that the job was born with.

    One of the catalog, or of a resource, changes without the job: then the job keeps its own.
    """
    if not now.has_runtime_of_program:
        return True
    given, kept = runtime_of(now), runtime_of(born)
    if given == kept or given.metadata.name != kept.metadata.name:
        return given == kept
    return catalog.find(given.metadata.name or "") == given


def _code_of_user(job: TrainJobProperties) -> JSONObject | None:
    """The user's part of the code: our launcher changes with a release, which retrains nothing."""
    return code.of_the_user() if (code := job.code) else None


def older_runtime(now: TrainJobProperties, born: TrainJobProperties) -> str:
    """A sentence when an unchanged job's runtime is another by now; else empty."""
    kept = born.runtime or {}
    if now.engine == targets.CONTROLLER and now.runtime is None:
        # It is the cluster's, which is not asked again.
        return ""
    if runtime_of(now).to_wire() == kept:
        return ""
    return (
        f"{born.name} keeps the runtime it was born with, {kept['metadata']['name']} has changed since; "
        "raise attempt to run it on the new one"
    )


def outputs_root(job: TrainJobProperties) -> str:
    """The address below which a run's outputs are kept where they have none of their own."""
    if given := job.json.get("outputsAt"):
        return str(given)
    return f"{home_folders.state_home()}/outputs" if job.target == targets.LOCAL else ""


def output_places(job: TrainJobProperties, name: str) -> Mapping[str, str]:
    """Where each output of the run of that name is kept."""
    run = {"namespace": job.namespace, "run": name}
    # What is not a mapping is a problem of the options, which are judged besides.
    given = job.outputs if isinstance(job.outputs, Mapping) else {}
    places = kept_outputs.output_addresses(given, outputs_root(job), run)
    return {key: target_address(job, each) for key, each in places.items()}


def packages_to_install(job: TrainJobProperties) -> tuple[str, ...]:
    """The packages of a run as its target installs them: with wheels of a claim in its folder."""
    links = names.FIND_LINKS
    return tuple(
        f"{links}{target_address(job, each.removeprefix(links))}"
        if each.startswith(links)
        else each
        for each in job.packages
    )


def target_address(job: TrainJobProperties, address: str) -> str:
    """An address on the run's target: on this machine a folder stands for volume claims, one for each namespace."""
    if job.target != targets.LOCAL or not address.startswith(kept_outputs.CLAIM):
        return address
    path = address.removeprefix(kept_outputs.CLAIM)
    return f"{home_folders.state_home()}/volumes/{job.namespace}/{path}"
