"""Descriptions in a CRD's schema: the docstrings of the typed kinds, which `kubectl explain` shows.

Python keeps no docstring of a field, so they are read from the source of the modules that define
the kinds. Parts that are plain JSON in the typed kinds (JobSetSpec, EnvVar and the rest of core/v1)
get none: they would make the CRDs four times as large.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from trainer_infra.json_values import JSONDict

_LEFT_TO_THE_SERVER: Final = {"type": "object"}
"""The schema of a kind's own metadata; the API server refuses one that says more."""


def with_descriptions(schema: JSONDict, model: type[BaseModel]) -> JSONDict:
    """A copy of a schema with descriptions.

    Args:
        schema: schema of an object, without references; not changed.
        model: its typed form.
    """
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
