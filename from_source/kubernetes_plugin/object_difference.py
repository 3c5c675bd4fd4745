"""What an update changes, from inputs before and after and what the API server would make of them.

Only fields that the program has or had count: what the server or another field manager adds is no
difference. Where the server was asked (a dry run), two spellings of one value are none either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from from_source.kubernetes_plugin.object_inputs import is_autonamed
from from_source.kubernetes_plugin.property_struct import Path, leaves

_IDENTITY: Final[tuple[Path, ...]] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Change:
    """A field that changes."""

    path: Path
    kind: str
    """`ADD`, `DELETE` or `UPDATE`."""
    replaces: bool
    """Whether a new object must take the place of the old one."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the API server says of new inputs."""

    object: Mapping[str, Any] | None = None
    """The object as it would be stored; None where the server could not be asked."""
    refused: tuple[str, ...] | None = None
    """Fields that cannot change, perhaps none by name; None where the update is possible."""


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], live: Any, prediction: Prediction
) -> Sequence[Change]:
    """Every field that changes.

    Args:
        before: the inputs of the last `up`.
        after: the inputs now.
        live: the object as the state has it.
        prediction: what the server makes of `after`.
    """
    paths = dict.fromkeys(path for each in (before, after) for path, _ in leaves(each))
    found = [
        (path, kind) for path in paths if (kind := _kind(path, before, after, live, prediction))
    ]
    refused = prediction.refused
    named = {path for path, _ in found if refused and text(path).startswith(refused)}
    return [
        Change(
            path,
            kind,
            path in _IDENTITY or (refused is not None and path in (named or dict(found))),
        )
        for path, kind in found
    ]


def deletes_first(after: Mapping[str, Any]) -> bool:
    """Whether a replacement needs the name of what it replaces."""
    return not is_autonamed(after)


def text(path: Path) -> str:
    """A path as Pulumi writes it: `spec.ports[0].name`, `metadata.labels["a.b/c"]`."""
    made = ""
    for part in path:
        if isinstance(part, int):
            made += f"[{part}]"
        elif part.replace("_", "").isalnum():
            made += f".{part}"
        else:
            made += f'["{part}"]'
    return made.removeprefix(".")


def _kind(path: Path, before: Any, after: Any, live: Any, prediction: Prediction) -> str | None:
    old, new = _at(live, path), _at(prediction.object, path)
    if prediction.object is None or (old is _ABSENT and new is _ABSENT):
        old, new = _at(before, path), _at(after, path)
    if old == new:
        return None
    return "ADD" if old is _ABSENT else "DELETE" if new is _ABSENT else "UPDATE"


def _at(value: Any, path: Path) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return _ABSENT
    return value
