"""Values as the engine sends them: plain JSON in which one that is not known is a fixed text."""

from collections.abc import Iterable, Mapping
from typing import Any

from trainer_infra.api.input import UNKNOWN, is_stand_in
from trainer_infra.json_values import JSON, JSONObject, as_integer, json_leaves


def plain_json(value: JSON, unknown: type | tuple[()] = ()) -> Any:
    """The value as JSON has it: whole floats are integers, None is left out, what is of type `unknown` is `UNKNOWN`."""
    # Most values are texts, and asking whether one is a Mapping takes ten times as long.
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return as_integer(value)
    if isinstance(value, Mapping):
        return {key: plain_json(each, unknown) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [plain_json(each, unknown) for each in value]
    return UNKNOWN if isinstance(value, unknown) else value


def is_unknown(value: JSON) -> bool:
    """Whether the value is, or holds, one that only the deployment will tell."""
    return any(is_stand_in(leaf) for _, leaf in json_leaves(value))


def differing(keys: Iterable[str], olds: JSONObject, news: JSONObject) -> tuple[str, ...]:
    """Those of the keys that have another value in one than in the other."""
    return tuple(key for key in keys if olds.get(key) != news.get(key))
