"""The one form in which objects of both sides are compared.

What is folded together means the same to an API server and to the controllers that read it:
- a field that is null and an absent one; an empty `metadata`, `labels`, `annotations`,
  `resources`, `status` or `strategy` and an absent one (the reference's typed structs write them);
- an empty list and an absent one; an environment variable's value "" and an absent one; a divisor 0,
  a containerName "", a readOnly false, the status "" of a condition that a Job's failure policy
  matches (an API server makes True of it) and an absent one;
- ownerReferences to a TrainJob without a UID, which is not stored, and none;
- quantities of equal amount, however written: 0.5 and 500m;
- key material (the MPI and the Flux Secret): the same keys on both sides, whatever their values;
  the text of Flux' scripts, which are our own.
Lists keep their order, except the list of objects itself, which the reference makes in random order.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

JSON = Mapping[str, Any]
Key = tuple[str, str, str]

_HOLLOW = frozenset({"metadata", "labels", "annotations", "resources", "status", "strategy"})
_QUANTITIES = frozenset({"limits", "requests", "minResources", "overhead"})
_QUANTITY = frozenset({"divisor", "sizeLimit", "storage"})
_MASKED = ("-mpi-ssh-auth", "-flux-curve", "-flux-entrypoint")
_UNSET = (
    ("divisor", "0"),
    ("containerName", ""),
    ("name", ""),
    ("readOnly", False),
    ("status", ""),
)
_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def objects(given: Iterable[JSON]) -> dict[Key, Any]:
    """Canonical objects by API version, kind and name."""
    return {
        (each["apiVersion"], each["kind"], each["metadata"]["name"]): _object(each)
        for each in given
    }


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path, the reference's value and ours, for each leaf that differs; `...` is absence."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        for name in {**theirs, **ours}:
            yield from differences(theirs.get(name, ...), ours.get(name, ...), f"{path}.{name}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(left, right, f"{path}[{index}]")
    elif theirs != ours:
        yield (path, theirs, ours)


def _object(value: JSON) -> Any:
    if value["kind"] in {"Secret", "ConfigMap"} and value["metadata"]["name"].endswith(_MASKED):
        value = {**value, "data": dict.fromkeys(value.get("data") or {}, "<masked>")}
    return _field("", value)


def _field(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if name in _QUANTITIES:
            return {key: amount(each) for key, each in value.items()}
        fields = {key: _field(key, each) for key, each in value.items()}
        return {key: each for key, each in fields.items() if not _absent(key, each)}
    if isinstance(value, (list, tuple)):
        items = [_field("", each) for each in value]
        return [_variable(each) for each in items] if name == "env" else items
    if name in _QUANTITY and value is not None:
        return amount(value)
    return value


def _absent(name: str, value: Any) -> bool:
    if value is None or value == [] or (name, value) in _UNSET:
        return True
    if name == "ownerReferences":
        return any(each["uid"] == "" for each in value)
    return value == {} and name in _HOLLOW


def _variable(value: JSON) -> JSON:
    return {key: each for key, each in value.items() if (key, each) != ("value", "")}


def amount(value: object) -> str:
    """A quantity as an exact fraction."""
    found = re.fullmatch(r"([+-]?[\d.]+)(?:([eE][+-]?\d+)|(\D*))", str(value))
    if found is None:
        return str(value)
    number, exponent, suffix = found.groups()
    factor = Fraction(f"1{exponent}") if exponent else _SUFFIXES.get(suffix, Fraction(1))
    return str(Fraction(number) * factor)
