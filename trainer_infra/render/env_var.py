"""Environment variables of a TrainJob as the reference's converter leaves them.

Called by `resolve` where the reference is followed. It keeps of a variable's source what it knows:
a field's path without its API version, and nothing of a key in a file. Ours keeps all that is
written. Rule: reference behaviour 2.4.
"""

from collections.abc import Iterable

from trainer_infra.api.base import KubeModel
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject


def with_converted_variables(job: TrainJob) -> TrainJob:
    """A copy of the TrainJob whose trainer and initializers have converted variables."""
    spec, source = job.spec, job.spec.initializer
    changed: dict[str, KubeModel] = {}
    if spec.trainer is not None:
        changed["trainer"] = _with_env(spec.trainer, spec.trainer.env)
    if source is not None:
        parts = {"dataset": source.dataset, "model": source.model}
        given = {name: _with_env(each, each.env) for name, each in parts.items() if each}
        changed["initializer"] = source.model_copy(update=given)
    return job.model_copy(update={"spec": spec.model_copy(update=changed)})


def _with_env(part: KubeModel, env: Iterable[JSONObject] | None) -> KubeModel:
    if env is None:
        return part
    return part.model_copy(update={"env": tuple(_variable(each) for each in env)})


def _variable(variable: JSONObject) -> JSONObject:
    source = variable.get("valueFrom")
    if source is None:
        return variable
    kept = {key: value for key, value in source.items() if key != "fileKeyRef"}
    if "fieldRef" in kept:
        kept["fieldRef"] = {"fieldPath": kept["fieldRef"]["fieldPath"]}
    return {"name": variable["name"], "valueFrom": kept}
