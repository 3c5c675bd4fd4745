"""CustomResourceDefinitions of the three kinds, for an API server.

The schemas are those of schemas/ (Trainer v2.3.0) with their shared parts put in place; names,
scope, columns and subresources are of reference behaviour 1.0; descriptions are the typed kinds'
own docstrings. Python keeps none of a field, so they are read from the source; parts that are plain JSON in the
typed kinds (JobSetSpec, EnvVar and the rest of core/v1) get none: they would make the CRDs four times as large.
Each is small enough for `kubectl apply` without `--server-side`.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from trainer_infra.api.base import Kind
from trainer_infra.api.manifests import KINDS
from trainer_infra.json_values import JSONDict
from trainer_infra.names import API_VERSION, CLUSTER_TRAINING_RUNTIME, GROUP, TRAIN_JOB

_LEFT_TO_THE_SERVER: Final = {"type": "object"}
"""The schema of a kind's own metadata; the API server refuses one that says more."""

_PUBLISHED: Final = Path(__file__).parent / "schemas" / "published.json"
_COLUMNS: Final = [
    {"jsonPath": ".status.conditions[-1:].type", "name": "State", "type": "string"},
    {"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"},
]
"""Of a TrainJob."""


def crd_definitions(kinds: Iterable[str] = KINDS) -> tuple[JSONDict, ...]:
    """The CRDs of some of `manifests.KINDS`, in the order given; every call makes new objects."""
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
    name, singular = kind.schema_name, kind.schema_name.lower()
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
            "scope": "Cluster" if name == CLUSTER_TRAINING_RUNTIME else "Namespaced",
            "versions": [_version(kind, schema)],
        },
    }


def _version(kind: type[Kind], schema: JSONDict) -> JSONDict:
    is_job = kind.schema_name == TRAIN_JOB
    return {
        **({"additionalPrinterColumns": _COLUMNS} if is_job else {}),
        "name": API_VERSION.removeprefix(f"{GROUP}/"),
        "schema": {"openAPIV3Schema": with_descriptions(schema, kind)},
        "served": True,
        "storage": True,
        **({"subresources": {"status": {}}} if is_job else {}),
    }


def with_descriptions(schema: JSONDict, model: type[BaseModel]) -> JSONDict:
    """A copy of an object's schema, which has no references, with the descriptions of its typed form."""
    texts = docstrings_of(model)
    properties = dict(schema.get("properties", {}))
    for name, field in model.model_fields.items():
        wire = to_camel(name)
        if wire in properties and not (
            wire == "metadata" and properties[wire] == _LEFT_TO_THE_SERVER
        ):
            properties[wire] = _with(texts[name], _inside(properties[wire], field.annotation))
    below = {"properties": properties} if properties else {}
    return _with(inspect.getdoc(model) or "", schema | below)


def docstrings_of(model: type[BaseModel]) -> Mapping[str, str]:
    """What the fields of a typed object mean, by name."""
    return {name: text for base in reversed(model.__mro__) for name, text in _fields(base)}


def _with(text: str, schema: JSONDict) -> JSONDict:
    return {"description": text} | {
        key: value for key, value in schema.items() if key != "description"
    }


def _inside(schema: JSONDict, annotation: Any) -> JSONDict:
    model = next(_models(annotation), None)
    if model is None:
        return schema
    if schema["type"] == "array":
        return schema | {"items": with_descriptions(schema["items"], model)}
    return with_descriptions(schema, model)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The typed objects that an annotation names: `Model | None`, `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _fields(owner: type) -> Iterator[tuple[str, str]]:
    """Names and docstrings of the fields that a class itself defines."""
    if issubclass(owner, BaseModel) and owner is not BaseModel:
        yield from _documented(owner.__module__).get(owner.__name__, {}).items()


@cache
def _documented(module: str) -> Mapping[str, Mapping[str, str]]:
    """Field docstrings of a module's classes: class name to field name to text."""
    source = Path(str(sys.modules[module].__file__)).read_text(encoding="utf-8")
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return {node.name: dict(_pairs(node.body)) for node in classes}


def _pairs(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in pairwise(body):
        match (statement, following):
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, inspect.cleandoc(text)
            case _:
                pass
