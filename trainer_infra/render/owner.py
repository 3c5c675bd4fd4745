"""metadata.ownerReferences: an object of a stored TrainJob goes when the TrainJob goes.

A TrainJob that is not stored in an API server has no UID and owns nothing. Rule:
reference behaviour 4.5.
"""

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject


def with_owner(value: JSONObject, job: TrainJob) -> JSONObject:
    """The object with the TrainJob as its controller; as it is when the TrainJob has no UID."""
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
