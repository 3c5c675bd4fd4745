"""The runtime that a cluster has of a TrainJob's name, and the controller there that renders it with that.

Without an answer of the cluster a preview goes on with what is known here; a submit is refused
where the cluster has no such runtime.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.deploy.operations import declared_run, targets
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.errors import InvalidInput, NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.runs.target import Target

_KEPT: Final = ("name", "namespace", "labels", "annotations")
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class StoredRuntime:
    """What a cluster has of it."""

    runtime: Runtime | None = None
    """What a job is rendered with that names it; None where that is not the cluster's to say."""
    remark: str = ""
    """What is worth knowing of it; or empty."""
    controller: str = ""
    """Which controller renders a job there, as `Target.controller` says it."""


UNKNOWN: Final = StoredRuntime()


def stored_runtime(
    job: TrainJobProperties, born: TrainJobProperties, target: Target
) -> StoredRuntime:
    """The cluster's runtime of a new run.

    Args:
        job: inputs of the TrainJob.
        born: its state; a run that it has keeps the runtime that it was born with.
        target: where it is to run.
    """
    is_stored = job.target == targets.KUBERNETES and job.engine == targets.CONTROLLER
    if not is_stored or declared_run.is_same_run(job, born):
        return UNKNOWN
    return replace(_asked(job, target), controller=target.controller())


def _asked(job: TrainJobProperties, target: Target) -> StoredRuntime:
    if target.runtimes is None or not target.answers():
        return UNKNOWN
    ref = job.spec.get("runtimeRef") or {}
    kind, name = ref.get("kind") or names.CLUSTER_TRAINING_RUNTIME, str(ref.get("name"))
    namespace = job.namespace if kind == names.TRAINING_RUNTIME else ""
    try:
        if target.runtimes.missing(kind):
            return UNKNOWN
        found = target.runtimes.get(
            {"kind": kind, "metadata": {"name": name, "namespace": namespace}}
        )
    except (NotAvailable, Refused, Answer, NotServed):
        return UNKNOWN
    if found is None:
        place = f" in namespace {namespace}" if namespace else ""
        return StoredRuntime(
            remark=f"the cluster has no {kind} {name}{place} yet, without which `up` refuses the job: "
            "Kubeflow Trainer's controller renders it with that"
        )
    return _compared(job, found)


def _compared(job: TrainJobProperties, found: JSONObject) -> StoredRuntime:
    metadata = {key: found["metadata"][key] for key in _KEPT if found["metadata"].get(key)}
    if notes := {
        key: each for key, each in metadata.pop("annotations", {}).items() if key != _APPLIED
    }:
        metadata["annotations"] = notes
    head = {key: found[key] for key in ("apiVersion", "kind", "spec")}
    try:
        runtime = declared_run.read_runtime({**head, "metadata": metadata})
    except InvalidInput as error:
        return StoredRuntime(remark=f"the cluster's runtime cannot be read here: {error}")
    if job.runtime is None:
        return StoredRuntime(runtime)
    if _holds(found["spec"], job.runtime["spec"]):
        return UNKNOWN
    shown = f"{runtime.kind} {runtime.metadata.name}"
    of_program = "" if job.has_runtime_of_program else " as yet"
    return StoredRuntime(
        remark=f"{shown} in the cluster is another one than the program's{of_program}; Kubeflow Trainer's "
        "controller renders with the cluster's when the job starts"
    )


def _holds(whole: Any, part: Any) -> bool:
    """Whether a value has all that another has: a server only adds defaults."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            _holds(whole.get(key), each) for key, each in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(whole == part)
