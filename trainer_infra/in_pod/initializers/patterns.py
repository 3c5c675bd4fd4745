"""Which files of a listing are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

MODEL_DEFAULT = ("*.msgpack", "*.h5", "*.bin", "*.pt", "*.pth")
"""What is left out of a model where the variable is unset (reference behaviour 7.1, and Q19)."""


@dataclass(frozen=True)
class Patterns:
    """Shell patterns, in which `*` also matches slashes, as in `huggingface_hub`; `dir/` is all below it."""

    ignored: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None
    """None if all are."""
    of_model: bool = False
    also: frozenset[str] = frozenset()
    """Names that are wanted whatever is ignored."""

    def admits(self, *names: str) -> bool:
        """Whether a file is wanted.

        Args:
            names: its path below the URI, and what else it is known by: patterns of the reference are for the whole
                key of an object.
        """
        if not self.also.isdisjoint(names):
            return True
        if self.allowed is not None and not _is_matched(names, self.allowed):
            return False
        return not _is_matched(names, self.ignored)

    @property
    def shown(self) -> str:
        """As messages show them."""
        allowed = [] if self.allowed is None else [f"ALLOW_PATTERNS={','.join(self.allowed)}"]
        ignored = [f"IGNORE_PATTERNS={','.join(self.ignored)}"] if self.ignored else []
        return " and ".join(allowed + ignored)


def parse_patterns(ignored: str | None, allowed: str | None, *, of_model: bool) -> Patterns:
    """Patterns of the two variables. One that is set to nothing counts: nothing is ignored, or all is allowed.

    Args:
        ignored: IGNORE_PATTERNS, None where it is unset: then a model has a default.
        allowed: ALLOW_PATTERNS, None where it is unset.
        of_model: whether they are those of a model.
    """
    default = MODEL_DEFAULT if of_model else ()
    given = default if ignored is None else _split(ignored)
    return Patterns(given, _split(allowed or "") or None, of_model)


def _split(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _is_matched(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(
        fnmatchcase(name, f"{pattern}*" if pattern.endswith("/") else pattern)
        for pattern in patterns
        for name in names
    )
