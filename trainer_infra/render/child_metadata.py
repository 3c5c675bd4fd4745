"""metadata of a TrainJob's child objects: their names are those of reference behaviour 3.11.

For plugins that build an object besides the JobSet. `owner` adds the owner afterwards.
"""

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
