"""CustomResourceDefinitions of the three kinds, for an API server.

Called by `trainer-infra crds` and by tools/cluster. The schemas are those of schemas/ (Trainer
v2.3.0) with their shared parts put in place; names, scope, columns and subresources are of
spec/trainer-behaviour.md section 1.0; descriptions are the typed kinds' own (crd_descriptions.py).
Each is small enough for `kubectl apply` without `--server-side`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from trainer_infra.api import crd_descriptions, schema
from trainer_infra.api.base import JSON, Kind
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.names import API_VERSION, GROUP

KINDS: Final[Mapping[str, type[Kind]]] = {
    kind.schema_name: kind for kind in (TrainJob, TrainingRuntime, ClusterTrainingRuntime)
}
"""The kinds that have a CRD, by name, in the order in which they are printed."""

_COLUMNS: Final[Mapping[str, list[JSON]]] = {
    TrainJob.schema_name: [
        {"jsonPath": ".status.conditions[-1:].type", "name": "State", "type": "string"},
        {"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"},
    ]
}
_SUBRESOURCES: Final[Mapping[str, JSON]] = {TrainJob.schema_name: {"status": {}}}
_CLUSTER_SCOPED: Final = (ClusterTrainingRuntime.schema_name,)


def definitions(kinds: Iterable[str] = KINDS) -> tuple[JSON, ...]:
    """The CRDs of some kinds, in the order given; every call makes new objects.

    Args:
        kinds: names out of KINDS.
    """
    return tuple(_definition(KINDS[kind]) for kind in kinds)


def _definition(kind: type[Kind]) -> JSON:
    name = kind.schema_name
    singular = name.lower()
    plural = f"{singular}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": plural,
                "singular": singular,
            },
            "scope": "Cluster" if name in _CLUSTER_SCOPED else "Namespaced",
            "versions": [_version(kind)],
        },
    }


def _version(kind: type[Kind]) -> JSON:
    name = kind.schema_name
    columns = {"additionalPrinterColumns": _COLUMNS[name]} if name in _COLUMNS else {}
    below = {"subresources": _SUBRESOURCES[name]} if name in _SUBRESOURCES else {}
    whole = crd_descriptions.described(schema.published(name), kind)
    return {
        **columns,
        "name": API_VERSION.removeprefix(f"{GROUP}/"),
        "schema": {"openAPIV3Schema": whole},
        "served": True,
        "storage": True,
        **below,
    }
