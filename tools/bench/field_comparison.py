"""In which fields the JobSets of two controllers differ, but for what a server adds."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.json_values import JSONObject

_SERVERS: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def differing_fields(
    ours: Mapping[str, JSONObject], theirs: Mapping[str, JSONObject]
) -> dict[str, int]:
    """Paths of the fields that differ, with the number of JobSets in which they do.

    A JobSet that only one of them has made differs as a whole.
    """
    found: Counter[str] = Counter()
    for name in {**ours, **theirs}:
        one, other = (_compared(each[name]) if name in each else None for each in (ours, theirs))
        found.update(_paths(one, other, ""))
    return dict(found)


def _compared(jobset: JSONObject) -> JSONObject:
    metadata = {key: each for key, each in jobset["metadata"].items() if key not in _SERVERS}
    owners = [
        {key: each for key, each in owner.items() if key != "uid"}
        for owner in metadata.get("ownerReferences") or ()
    ]
    return {**jobset, "metadata": {**metadata, "ownerReferences": owners}}


def _paths(one: Any, other: Any, path: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            left, right = one.get(key), other.get(key)
            if key == "metadata":  # Go writes an empty one.
                left, right = left or {}, right or {}
            yield from _paths(left, right, f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _paths(left, right, f"{path}[{index}]")
    elif one != other:
        yield path
