"""Strategic merge of a runtime patch onto a JobSetSpec.

Pure. Lists with a merge key are merged item by item, all others are replaced; mappings merge per
key. Merge keys and the order of merged lists are those of Kubernetes' strategic merge patch:
reference behaviour 4.3. A patch adds and replaces, it removes nothing: an empty list or string and
a readOnly that is false are the same as absent, because the reference reads patches into types that
cannot tell them apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from trainer_infra.json_values import JSONObject

MERGE_KEYS: Final = {
    "replicatedJobs": "name",
    "initContainers": "name",
    "containers": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "claims": "name",
}


def merge_patch(base: JSONObject, patch: JSONObject, *, joins_sources: bool = False) -> JSONObject:
    """`base` with `patch` merged into it; neither is changed.

    With `joins_sources` a volume that gets another source keeps the old one beside it, as in the
    reference (Q17).
    """
    result = dict(base)
    for key, value in patch.items():
        if value not in (None, "", []) and (key, value) != ("readOnly", False):
            result[key] = _merged(key, base.get(key), value, joins_sources=joins_sources)
    return result


def _merged(key: str, old: object, new: object, *, joins_sources: bool) -> object:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return merge_patch(old, new, joins_sources=joins_sources)
    merge_key = MERGE_KEYS.get(key)
    if merge_key is None or not isinstance(old, Sequence) or not isinstance(new, Sequence):
        return new
    replaces = key == "volumes" and not joins_sources
    return _merged_list(old, new, merge_key, replaces=replaces, joins_sources=joins_sources)


def _merged_list(
    old: Sequence[JSONObject],
    new: Sequence[JSONObject],
    key: str,
    *,
    replaces: bool,
    joins_sources: bool,
) -> list[JSONObject]:
    by_key = {item.get(key): item for item in old}
    patched = [
        _volume(by_key.get(item.get(key)), item)
        if replaces
        else merge_patch(by_key.get(item.get(key), {}), item, joins_sources=joins_sources)
        for item in new
    ]
    touched = {item.get(key) for item in new}
    kept = [item for item in old if item.get(key) not in touched]
    order = {item.get(key): place for place, item in enumerate(old)}
    return _interleave(
        kept, patched, {id(item): order.get(item.get(key)) for item in patched}, order, key
    )


def _volume(old: JSONObject | None, new: JSONObject) -> JSONObject:
    # A volume has one source: another source replaces the old one instead of joining it (Q17).
    if old is None or set(old) != set(new):
        return new
    return merge_patch(old, new)


def _interleave(
    kept: list[JSONObject],
    patched: list[JSONObject],
    places: Mapping[int, int | None],
    order: Mapping[Any, int],
    key: str,
) -> list[JSONObject]:
    """Kubernetes' order: base order where both are known, otherwise patched items first."""
    result: list[JSONObject] = []
    left, right = 0, 0
    while left < len(kept) and right < len(patched):
        place = places[id(patched[right])]
        if place is not None and order[kept[left].get(key)] < place:
            result.append(kept[left])
            left += 1
        else:
            result.append(patched[right])
            right += 1
    return [*result, *kept[left:], *patched[right:]]
