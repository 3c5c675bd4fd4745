"""Inputs of a TrainJob resource -> every object of its run, before anything is created.

A check shows what `preview_run` gives, at preview and at deployment; a create asks `compose_run`
again and so submits exactly what was shown. All is known here but the runtime that a cluster has, with
engine `controller`: without an answer of the cluster a preview goes on with what is known here; a submit
is refused where the cluster has no such runtime.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint, manifests
from trainer_infra.api.runtime import Runtime
from trainer_infra.deploy.operations import declared_run, targets
from trainer_infra.deploy.operations.declared_run import output_places, runtime_of, target_address
from trainer_infra.deploy.operations.leaked_secrets import leaked_secrets
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.values import differing
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, Refused
from trainer_infra.json_values import JSONObject, has_all
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.render import plugin_registry
from trainer_infra.render.deviation import Deviation
from trainer_infra.runs.target import Target
from trainer_infra.trainers import (
    adapter_base,
    checkpoints,
    claim_volumes,
    compose,
    initializer_uris,
    kept_outputs,
    program_inputs,
)
from trainer_infra.trainers.compose import Composition

_KEPT: Final = ("name", "namespace", "labels", "annotations")
"""Metadata of a cluster's runtime that is its writer's."""
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OF_PREEMPTION: Final = (
    *(checkpoint.VARIABLE, "terminationGracePeriodSeconds", "Checkpointer", "TERM"),
    *("signal.signal", "jit_checkpoint", "spot", "SPOT", "preemptible", "--nnodes="),
)
_BORN_WITH: Final = ("code", "plugins", "outputs", "controller", "packagesAt")
"""What a run keeps, besides name and runtime."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What is known of a TrainJob before deployment."""

    inputs: TrainJobProperties
    """The inputs with name, runtime and rendering filled in."""
    warnings: tuple[str, ...]
    """What is worth knowing of a new run although nothing is wrong."""
    is_kept: bool
    """Whether it is the run that it was: nothing is new then."""
    remarks: tuple[str, ...] = ()
    """From where it goes on, what its preemption costs, and how often saving pays."""


def preview_run(job: TrainJobProperties, born: TrainJobProperties, target: Target) -> Preview:
    """Everything that can be known before deployment.

    When what makes the run what it is did not change since it was born, the job keeps the name, the
    runtime and the rendering it was born with: a new release or an edited runtime retrains nothing
    and changes nothing (design rule 2).

    Raises:
        InvalidInput: holds every problem that can be known before deployment.
    """
    same = declared_run.is_same_run(job, born)
    # A run that is there keeps the runtime that it was born with.
    stored = StoredRuntime() if same else stored_runtime(job, target)
    if same:
        name, runtime = born.name, runtime_of(born)
        job = job.with_values(**{key: born.json.get(key) for key in _BORN_WITH})
    else:
        runtime = stored.runtime or runtime_of(job, manifests.parse_object)
        name = declared_run.name_of(job, runtime)
        job = job.with_values(controller=stored.controller or None)
    if job.outputs:
        job = job.with_values(outputs=output_places(job, name))
    run = compose_run(job, name, runtime, target)
    shown: Mapping[str, JSONObject] = by_role(run.objects, name)
    wire = run.job.to_wire()
    problems = [
        *leaked_secrets(job, shown),
        *kept_outputs.missing_outputs(wire, job.code, job.outputs),
        *kept_outputs.unwritten_outputs(wire, job.outputs),
    ]
    if not same:
        # A run that goes on as it is has found its data, or has not.
        problems += initializer_uris.unreadable_uris(wire, runtime)
        problems += program_inputs.unfetched_inputs(wire, job.code, run.objects)
    wrong, doubts, costs = ([], [], []) if same else _outlook(job, run, born)
    problems += [*target.problems(wire, run.objects, job.controller), *wrong]
    if problems:
        raise InvalidInput(problems)
    if same and _is_shown_alike(job, born):
        shown = born.rendered
    filled = {**job.json, "name": name, "runtime": runtime.to_wire(), "rendered": shown}
    plain = {key: value for key, value in filled.items() if value is not None}
    found = (
        *program_inputs.missing_inputs(wire, job.code, run.objects),
        *initializer_uris.seen_folders(wire, runtime),
        *doubts,
    )
    remarks = (f"TrainJob {name}: {e}" for e in found)
    said = (*filter(None, [stored.remark]), *run.warnings, *remarks)
    return Preview(TrainJobProperties(plain), () if same else said, same, tuple(costs))


def _outlook(
    job: TrainJobProperties, run: Composition, born: TrainJobProperties
) -> tuple[list[Problem], list[str], list[str]]:
    """What a preemption does to the run; nothing where no word speaks of signals, times or checkpoints.

    A remark says from where it goes on if it replaces a run.
    """
    own = job.code.own_files().values() if job.code else ()
    job_sets = (json.dumps(each) for each in run.objects if each["kind"] == names.JOBSET)
    if not any(mark in text for text in (*job_sets, *own) for mark in _OF_PREEMPTION):
        return [], [], []
    # Most runs do not need the rules, which take 0.2 s to import.
    from trainer_infra.deploy.operations import preemption_outlook  # noqa: PLC0415

    wrong, doubts, costs = preemption_outlook.preemption_outlook(job, run)
    named = job.with_values(name=run.job.metadata.name)
    goes_on = declared_run.goes_on_sentence(named, born)
    return wrong, doubts, [*filter(None, [goes_on]), *costs]


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
    behaviour = target.behaviour(plugins, properties.owner, properties.controller)
    job = checkpoints.attach_checkpoint(job, runtime, behaviour.plugins, properties.attempt)
    job = adapter_base.with_model_uri(job, properties.code)
    place = partial(target_address, properties)
    job = adapter_base.with_adapter_claim(job, runtime, properties.code, place, plugins)
    job = claim_volumes.attach_claims(job, runtime, place)
    secrets = sorted(properties.secret_data)
    behaviour = replace(behaviour, package_cache=properties.packages_at)
    if not behaviour.ours(Deviation.TORCHTUNE):
        job = kept_outputs.as_the_reference_takes_it(job, runtime)
    return compose.compose(job, runtime, properties.code, secrets, behaviour)


def by_role(objects: Iterable[JSONObject], job: str) -> dict[str, JSONObject]:
    """The objects by the role they have for the job, so that a diff compares like with like."""
    found = {}
    for each in objects:
        rest = str(each["metadata"]["name"]).removeprefix(job).lstrip("-")
        suffix = re.sub(r"-[0-9a-f]{8}$", "", rest)
        found[f"{each['kind']}-{suffix}" if suffix else str(each["kind"])] = each
    return found


def _is_shown_alike(now: TrainJobProperties, born: TrainJobProperties) -> bool:
    """Whether what may change in place leaves the rendering of an unchanged run as it is."""
    return (
        not differing(("labels", "annotations"), now.json, born.json)
        and replace(now.owner, backend="") == replace(born.owner, backend="")
        and now.secret_data.keys() == born.secret_data.keys()
        and now.is_suspended == born.is_suspended
        and "rendered" in born.json
    )


@dataclass(frozen=True, slots=True)
class StoredRuntime:
    """What a cluster has of a new run's runtime."""

    runtime: Runtime | None = None
    """What a job is rendered with that names it; None where that is not the cluster's to say."""
    remark: str = ""
    """What is worth knowing of it; or empty."""
    controller: str = ""
    """Which controller renders a job there, as `Target.controller` says it."""


def stored_runtime(job: TrainJobProperties, target: Target) -> StoredRuntime:
    """The cluster's runtime of a new run."""
    if job.target != targets.KUBERNETES or job.engine != targets.CONTROLLER:
        return StoredRuntime()
    return replace(_asked(job, target), controller=target.controller())


def _asked(job: TrainJobProperties, target: Target) -> StoredRuntime:
    if target.runtimes is None or not target.answers():
        return StoredRuntime()
    ref = job.spec.get("runtimeRef") or {}
    kind, name = ref.get("kind") or names.CLUSTER_TRAINING_RUNTIME, str(ref.get("name"))
    namespace = job.namespace if kind == names.TRAINING_RUNTIME else ""
    try:
        if target.runtimes.missing(kind):
            return StoredRuntime()
        metadata = {"name": name, "namespace": namespace}
        found = target.runtimes.get({"kind": kind, "metadata": metadata})
    except (NotAvailable, Refused, Answer, NotServed):
        return StoredRuntime()
    if found is None:
        place = f" in namespace {namespace}" if namespace else ""
        return StoredRuntime(
            remark=f"the cluster has no {kind} {name}{place} yet, without which `up` refuses the job: "
            "Kubeflow Trainer's controller renders it with that"
        )
    return _compared(job, found)


def _compared(job: TrainJobProperties, found: JSONObject) -> StoredRuntime:
    metadata = {key: found["metadata"][key] for key in _KEPT if found["metadata"].get(key)}
    notes = metadata.pop("annotations", {})
    if own := {key: each for key, each in notes.items() if key != _APPLIED}:
        metadata["annotations"] = own
    head = {key: found[key] for key in ("apiVersion", "kind", "spec")}
    try:
        runtime = declared_run.read_runtime({**head, "metadata": metadata})
    except InvalidInput as error:
        return StoredRuntime(remark=f"the cluster's runtime cannot be read here: {error}")
    if job.runtime is None:
        return StoredRuntime(runtime)
    if has_all(found["spec"], job.runtime["spec"]):
        return StoredRuntime()
    shown = f"{runtime.kind} {runtime.metadata.name}"
    of_program = "" if job.has_runtime_of_program else " as yet"
    return StoredRuntime(
        remark=f"{shown} in the cluster is another one than the program's{of_program}; Kubeflow Trainer's "
        "controller renders with the cluster's when the job starts"
    )
