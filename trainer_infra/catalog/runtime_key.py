"""Which runtime a TrainJob refers to: the one key by which every room looks a runtime up.

A TrainingRuntime serves the TrainJobs of its own namespace, a ClusterTrainingRuntime all of them
(reference behaviour 4.2). An object that names no namespace is in `default`.
"""

from functools import cache
from typing import NamedTuple

from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime


class RuntimeKey(NamedTuple):
    """Identity of a runtime."""

    kind: str
    namespace: str
    """Empty for a ClusterTrainingRuntime."""
    name: str


def runtime_key(kind: str, namespace: str | None, name: str) -> RuntimeKey:
    """The key of a runtime, or of the one that a TrainJob of that namespace refers to."""
    of_cluster = kind == names.CLUSTER_TRAINING_RUNTIME
    return RuntimeKey(kind, "" if of_cluster else names.namespace_of(namespace), name)


@cache
def shipped_runtime(key: RuntimeKey) -> ClusterTrainingRuntime | None:
    """The catalog's runtime of that kind and name; None where it has none."""
    return catalog.find(key.name) if key.kind == names.CLUSTER_TRAINING_RUNTIME else None
