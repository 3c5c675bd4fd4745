"""What kustomize says of an object that it built, in annotations of its own.

Sources: kustomize's `buildMetadata`, with `originAnnotations` (the file or the generator that an
object is from) and `transformerAnnotations` (the kustomizations whose transformers it went through,
the innermost first, whether they changed it or not).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import yaml

from trainer_infra.json_values import JSONObject
from trainer_infra.review.documents import value_at

BUILD_METADATA: Final = ("originAnnotations", "transformerAnnotations")
"""What has kustomize say it."""
_ORIGIN: Final = "config.kubernetes.io/origin"
_TRANSFORMATIONS: Final = "alpha.config.kubernetes.io/transformations"


@dataclass(frozen=True, slots=True)
class BuiltObject:
    """An object that kustomize built; paths are relative to the folder that was built."""

    value: JSONObject
    """The object, without what kustomize says of it."""
    file: str | None
    """The file that it is from; None where it is not of this repository."""
    is_from_patch: bool
    """Whether the file has the patch that replaced the object's annotations: kustomize takes the object
    for new then, and says nothing of what it was before."""
    layers: tuple[str, ...]
    """Files of the kustomizations that it went through, the outermost first."""


def built_object(value: JSONObject) -> BuiltObject:
    """The object, and what kustomize says of it."""
    annotations = value_at(value, ("metadata", "annotations"))
    said = annotations if isinstance(annotations, Mapping) else {}
    origin = _value(said.get(_ORIGIN))
    ours = next(_files([origin]), None) if isinstance(origin, Mapping) else None
    steps = _value(said.get(_TRANSFORMATIONS))
    layers = dict.fromkeys(_files(reversed(steps if isinstance(steps, list) else [])))
    maker = value_at(origin, ("configuredBy", "kind"))
    is_from_patch = isinstance(maker, str) and maker.endswith("Transformer")
    return BuiltObject(_without(value, said), ours, is_from_patch, tuple(layers))


def _files(places: Any) -> Iterator[str]:
    """Files of this repository among those that kustomize names."""
    for each in places:
        inside = each.get("configuredIn") or each.get("path")
        if isinstance(inside, str) and not each.get("repo"):
            yield inside


@lru_cache(maxsize=1 << 10)
def _value(said: str | None) -> Any:
    # Many objects went through the same layers.
    return yaml.load(said, Loader=yaml.CSafeLoader) if said else None


def _without(value: JSONObject, said: Mapping[str, Any]) -> JSONObject:
    if _ORIGIN not in said and _TRANSFORMATIONS not in said:
        return value
    others = {key: each for key, each in said.items() if key not in {_ORIGIN, _TRANSFORMATIONS}}
    rest = {key: each for key, each in value["metadata"].items() if key != "annotations"}
    return {**value, "metadata": {**rest, **({"annotations": others} if others else {})}}
