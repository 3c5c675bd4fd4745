"""Whether an object is of a kind that there is: a misspelt one is judged by no rule and taken by no cluster."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import FieldFinding
from trainer_infra.words import nearest

_JOBSET_GROUP: Final = names.JOBSET_API_VERSION.partition("/")[0]
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    names.GROUP: (names.TRAIN_JOB, names.TRAINING_RUNTIME, names.CLUSTER_TRAINING_RUNTIME),
    _JOBSET_GROUP: (names.JOBSET, "Configuration"),
    names.KUEUE_GROUP: names.KUEUE_KINDS,
}
"""Kinds of each group of which all are known."""
_WITHOUT_VERSION: Final = (*_KINDS[names.GROUP], names.JOBSET, "ClusterQueue", "LocalQueue")
"""Those that no other group has: they are told by the kind alone, also where it is nearly right."""
_ALIKE: Final = 0.85


def is_known_object(value: Mapping[str, Any]) -> bool:
    """Whether a document is meant to be an object of ours, though it lacks its apiVersion or kind."""
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str):
        return _group(version) in _KINDS
    return isinstance(kind, str) and bool(_near(kind, _WITHOUT_VERSION))


def kind_findings(value: Mapping[str, Any]) -> Iterator[FieldFinding]:
    """What is wrong with the kind of an object."""
    version, kind = value.get("apiVersion"), value.get("kind")
    group = _group(version) if isinstance(version, str) else ""
    if not isinstance(kind, str):
        if group in _KINDS:
            yield FieldFinding(("kind",), "is required", fix=f"write {' or '.join(_KINDS[group])}")
        return
    known = _KINDS.get(group, ())
    if known and kind not in known:
        what = f"is not a kind of {group}"
        near = _near(kind, known)
        fix = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
        yield FieldFinding(("kind",), what, kind, fix)
    elif not known and kind not in _WITHOUT_VERSION and (near := _near(kind, _WITHOUT_VERSION)):
        yield FieldFinding(("kind",), "is not a known kind", kind, f"did you mean {near[0]}?")


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


@lru_cache(maxsize=1 << 10)
def _near(kind: str, known: tuple[str, ...]) -> list[str]:
    """Kinds that are written like it, whatever the letters' case."""
    return nearest(kind, known, alike=_ALIKE, any_case=True)
