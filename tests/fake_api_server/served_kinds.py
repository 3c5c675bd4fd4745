"""The kinds that memory.py serves unless a test says otherwise. Pure."""

from typing import Final

from trainer_infra import names
from trainer_infra.kube.resource import (
    ACCESS_REVIEW,
    CLUSTER_TRAINING_RUNTIME,
    CONFIG_MAP,
    EVENT,
    JOB,
    JOBSET,
    NAMESPACE,
    NODE,
    POD,
    SECRET,
    TRAIN_JOB,
    TRAINING_RUNTIME,
    Resource,
)

KINDS: Final = (
    CONFIG_MAP,
    SECRET,
    POD,
    EVENT,
    NODE,
    NAMESPACE,
    JOB,
    JOBSET,
    TRAIN_JOB,
    TRAINING_RUNTIME,
    CLUSTER_TRAINING_RUNTIME,
    ACCESS_REVIEW,
    Resource(names.COSCHEDULING_API_VERSION, names.POD_GROUP, "podgroups"),
    Resource(names.VOLCANO_API_VERSION, names.POD_GROUP, "podgroups"),
)
"""What is served: what a TrainJob is made of, and what is read beside it."""

WITHOUT_STATUS: Final = (
    CONFIG_MAP,
    SECRET,
    EVENT,
    TRAINING_RUNTIME,
    CLUSTER_TRAINING_RUNTIME,
)
"""Those of them without the subresource."""
