"""The runtime snapshot: a ConfigMap that keeps the runtime a TrainJob was born with.

Rules and messages: reference behaviour 4.2.
"""

import json
from functools import lru_cache

import yaml

from trainer_infra import names
from trainer_infra.api import base, manifests, yamltext
from trainer_infra.api.base import Kind
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import child_metadata


def config_map(job: TrainJob, runtime: Runtime) -> JSONObject:
    """The ConfigMap `<name>-runtime-snapshot` with the whole runtime as YAML under `runtime_in_snapshot`."""
    # Sorted: the same runtime is the same text, however its keys were ordered.
    data = {names.SNAPSHOT_KEY: _yaml(json.dumps(runtime.to_wire(), sort_keys=True))}
    return child_metadata.child_object(job, "ConfigMap", names.SNAPSHOT_SUFFIX, data=data)


@lru_cache(maxsize=64)
def _yaml(wire: str) -> str:
    """JSON as YAML; hundreds of TrainJobs have the same few runtimes."""
    return yamltext.dump_yaml([json.loads(wire)])


def runtime_in_snapshot(job: TrainJob, snapshot: JSONObject) -> Runtime:
    """The runtime in a snapshot.

    Raises:
        InvalidInput: The snapshot belongs to another object, is damaged, or names another runtime.
    """
    text = (snapshot.get("data") or {}).get(names.SNAPSHOT_KEY)
    if job.metadata.uid is not None and job.metadata.uid not in _owners(snapshot):
        raise _invalid(job, "a snapshot configmap exists but is owned by another object")
    if text is None:
        raise _invalid(job, f'snapshot ConfigMap missing "{names.SNAPSHOT_KEY}" data key')
    try:
        found = _parsed(text)
    except (yaml.YAMLError, InvalidInput) as error:
        raise _invalid(job, f"unable to unmarshal the snapshot: {error}") from error
    wanted = job.spec.runtime_ref.named
    if isinstance(found, TrainingRuntime | ClusterTrainingRuntime) and (
        (names.GROUP, found.kind, found.metadata.name) == wanted
    ):
        return found
    raise _invalid(
        job,
        "the snapshot refers to the wrong runtime: expecting a runtime with name, api group and "
        f"kind of {_listed(wanted)} but found runtime with name, api group and kind of "
        f"{_listed((names.GROUP, found.kind, found.metadata.name))}",
    )


@lru_cache(maxsize=128)
def _parsed(text: str) -> Kind:
    """The object in a text; TrainJobs on one runtime have the same text, and no code changes it."""
    # Go writes null for times that are not set.
    return manifests.stored_object(base.without_nulls(yaml.load(text, Loader=yaml.CSafeLoader)))


def _listed(named: tuple[str, str, str]) -> str:
    group, kind, name = named
    return f'"{name}", "{group}", "{kind}"'


def _owners(snapshot: JSONObject) -> list[str]:
    references = (snapshot.get("metadata") or {}).get("ownerReferences") or ()
    return [each["uid"] for each in references if each.get("controller")]


def _invalid(job: TrainJob, why: str) -> InvalidInput:
    where = f"ConfigMap {job.metadata.name}{names.SNAPSHOT_SUFFIX}"
    return InvalidInput([Problem("data.runtime", f"invalid runtime snapshot: {why}", where=where)])
