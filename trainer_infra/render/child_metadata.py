"""A TrainJob's child objects: their names (reference behaviour 3.11) and owner (4.5)."""

from typing import Any

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject


def child_name(job: TrainJob, suffix: str) -> str:
    """The name of a child object: the TrainJob's with a suffix."""
    return f"{job.metadata.name}{suffix}"


def metadata_of_child(job: TrainJob, suffix: str) -> JSONObject:
    """Name and namespace of a child object; a TrainJob without a namespace gives none."""
    found = {"name": child_name(job, suffix)}
    if job.metadata.namespace is not None:
        found["namespace"] = job.metadata.namespace
    return found


def child_object(job: TrainJob, kind: str, suffix: str, **fields: Any) -> JSONObject:
    """A ConfigMap or Secret that a plugin builds beside the JobSet."""
    metadata = metadata_of_child(job, suffix)
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def with_owner(value: JSONObject, job: TrainJob) -> JSONObject:
    """The object with the TrainJob as its controller, with which it goes.

    A TrainJob that is not stored in an API server has no UID and owns nothing.
    """
    if job.metadata.uid is None:
        return value
    reference = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {**value, "metadata": {**value["metadata"], "ownerReferences": [reference]}}
