"""Whether a kustomization's patch is one of an object that kustomize built.

Kustomize compares a patch with every name that an object had on its way: the first one, and those
that prefixes and suffixes of inner layers made of it. `target` has regular expressions, which hold
for the whole of what they are compared with.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra.json_values import JSONObject
from trainer_infra.review.documents import Document, value_at
from trainer_infra.review.kustomization_file import KustomizationPatch

_HASH: Final = re.compile(r"-[a-z0-9]{10}$")
"""What kustomize appends to the names of what it generates."""
_HASHED: Final = frozenset({"ConfigMap", "Secret"})
_SELECTORS: Final = {"labelSelector": "labels", "annotationSelector": "annotations"}
_EQUAL: Final = re.compile(r"([^!=\s,]+)\s*==?\s*([^!=\s,]*)")


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """What an object was called on its way."""

    names: frozenset[str]
    """Its names."""
    namespaces: frozenset[str]
    """Its namespaces; empty where it has none."""

    @classmethod
    def of(cls, built: Document, layers: Sequence[Any]) -> "ObjectNames":
        """Those of a built object.

        Args:
            built: The object, with what it was built from.
            layers: The kustomizations that it went through, the outermost first.
        """
        own, first = (value_at(each, ("metadata",)) for each in (built.value, built.written))
        name = _text(own, "name")
        is_hashed = built.value.get("kind") in _HASHED
        now = {name, _HASH.sub("", name)} if is_hashed else {name}
        names = {_text(first, "name"), *now}
        namespaces = {_text(own, "namespace"), _text(first, "namespace")}
        for each in layers:
            prefix, suffix = _text(each, "namePrefix"), _text(each, "nameSuffix")
            now = {one.removeprefix(prefix).removesuffix(suffix) for one in now}
            names |= now
            namespaces.add(_text(each, "namespace"))
        return cls(frozenset(filter(None, names)), frozenset(namespaces))


def is_target(patch: KustomizationPatch, value: JSONObject, names: ObjectNames) -> bool:
    """Whether the patch is one of the object."""
    if patch.target is not None:
        return is_selected(patch.target, value, names)
    metadata = value_at(patch.value, ("metadata",))
    group, _, _ = str(value.get("apiVersion")).rpartition("/")
    return (
        isinstance(patch.value, Mapping)
        and patch.value.get("kind") == value.get("kind")
        and str(patch.value.get("apiVersion")).rpartition("/")[0] == group
        and _text(metadata, "name") in names.names
        and _text(metadata, "namespace") in names.namespaces | {""}
    )


def is_selected(target: Mapping[str, Any], value: JSONObject, names: ObjectNames) -> bool:
    """Whether a selector of a patch or a replacement selects the object."""
    group, _, version = str(value.get("apiVersion")).rpartition("/")
    known = {
        "group": {group},
        "version": {version},
        "kind": {str(value.get("kind"))},
        "name": names.names,
        "namespace": names.namespaces,
    }
    for field, ours in known.items():
        pattern = _text(target, field)
        if pattern and not any(_fits(pattern, each) for each in ours):
            return False
    return all(
        _has(value_at(value, ("metadata", field)), _text(target, selector))
        for selector, field in _SELECTORS.items()
    )


def _fits(pattern: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern, text) is not None
    except re.error:
        return pattern == text


def _has(pairs: Any, selector: str) -> bool:
    """Whether labels are as a selector wants them; of its terms only `key=value` are looked at."""
    wanted = (term for each in selector.split(",") if (term := _EQUAL.fullmatch(each.strip())))
    return all(_text(pairs, each[1]) == each[2] for each in wanted)


def _text(value: Any, field: str) -> str:
    text = value.get(field) if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""
