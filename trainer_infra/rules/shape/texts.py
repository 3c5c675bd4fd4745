"""Fields that are texts in every kind of Kueue and Volcano, which have no published schema here.

Field names: Kueue v1beta1 and v1beta2, Volcano scheduling v1beta1 and topology v1alpha1, and the
pod fields that they take over.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import QUOTE, FieldFinding, Path

_TEXTS: Final = frozenset(
    (
        *("name", "namespace", "kind", "apiGroup", "key", "value", "operator", "effect"),
        *("clusterQueue", "cohort", "cohortName", "parent", "parentName", "queue"),
        *("nodeLabel", "topologyName", "controllerName", "provisioningClassName"),
        *("priorityClassName", "schedulerName"),
    )
)
_MAPS: Final = frozenset(
    ("labels", "annotations", "matchLabels", "nodeLabels", "nodeSelector", "parameters")
)
_LISTS: Final = frozenset(("args", "command", "values", "coveredResources", "onFlavors"))


def unquoted_texts(value: Any, path: Path = ()) -> Iterator[FieldFinding]:
    """The numbers and booleans that stand where a text belongs."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _field(key, each, path)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from unquoted_texts(each, (*path, index))


def _field(key: object, value: Any, path: Path) -> Iterator[FieldFinding]:
    here: Path = (*path, str(key))
    if not isinstance(key, str):
        yield FieldFinding(here, "a key must be a string", key, QUOTE)
    elif key in _TEXTS:
        yield from _text(value, here)
    elif key in _MAPS and isinstance(value, Mapping):
        for name, each in value.items():
            yield from _text(each, (*here, str(name)))
    elif key in _LISTS and isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _text(each, (*here, index))
    if isinstance(key, str):
        yield from unquoted_texts(value, here)


def _text(value: Any, path: Path) -> Iterator[FieldFinding]:
    if isinstance(value, bool | int | float):
        yield FieldFinding(path, "must be a string", value, QUOTE)
