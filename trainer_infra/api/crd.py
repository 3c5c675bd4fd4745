"""CustomResourceDefinitions of the three kinds, for an API server.

The schemas are those of schemas/ (Trainer v2.3.0) with their shared parts put in place; names,
scope, columns and subresources are of reference behaviour 1.0; descriptions are the typed kinds'
own (crd_descriptions.py). Each is small enough for `kubectl apply` without `--server-side`.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from trainer_infra.api import crd_descriptions
from trainer_infra.api.base import Kind
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONDict
from trainer_infra.names import API_VERSION, GROUP

KINDS: Final[Mapping[str, type[Kind]]] = {
    kind.schema_name: kind for kind in (TrainJob, TrainingRuntime, ClusterTrainingRuntime)
}
"""The kinds that have a CRD, by name, in the order in which they are printed."""

_PUBLISHED: Final = Path(__file__).parent / "schemas" / "published.json"
_COLUMNS: Final[Mapping[str, list[JSONDict]]] = {
    TrainJob.schema_name: [
        {"jsonPath": ".status.conditions[-1:].type", "name": "State", "type": "string"},
        {"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"},
    ]
}
_SUBRESOURCES: Final[Mapping[str, JSONDict]] = {TrainJob.schema_name: {"status": {}}}
_CLUSTER_SCOPED: Final = (ClusterTrainingRuntime.schema_name,)


def crd_definitions(kinds: Iterable[str] = KINDS) -> tuple[JSONDict, ...]:
    """The CRDs of some kinds, in the order given; every call makes new objects.

    Args:
        kinds: names out of KINDS.
    """
    data = json.loads(_PUBLISHED.read_text(encoding="utf-8"))
    return tuple(
        _definition(KINDS[kind], _expanded(data["kinds"][kind], data["shared"])) for kind in kinds
    )


def _expanded(schema: Any, shared: Mapping[str, JSONDict]) -> Any:
    """A schema with the shared parts in place of the references to them."""
    if isinstance(schema, list):
        return [_expanded(each, shared) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _expanded(shared[schema["$ref"]], shared)
    return {key: _expanded(value, shared) for key, value in schema.items()}


def _definition(kind: type[Kind], schema: JSONDict) -> JSONDict:
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
            "versions": [_version(kind, schema)],
        },
    }


def _version(kind: type[Kind], schema: JSONDict) -> JSONDict:
    name = kind.schema_name
    columns = {"additionalPrinterColumns": _COLUMNS[name]} if name in _COLUMNS else {}
    below = {"subresources": _SUBRESOURCES[name]} if name in _SUBRESOURCES else {}
    return {
        **columns,
        "name": API_VERSION.removeprefix(f"{GROUP}/"),
        "schema": {"openAPIV3Schema": crd_descriptions.with_descriptions(schema, kind)},
        "served": True,
        "storage": True,
        **below,
    }
