"""A value that must not be shown by accident.

Users write it in `env`, `files` and `func_args` of a CustomTrainer and in an initializer's token; it is moved to the
job's own Secret, and a reference is left behind (design rule 1).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trainer_infra.errors import Problem


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is shown nowhere: not in a preview, not in the state, not in a repr."""

    value: Any = field(repr=False)
    """Text for an env variable, any JSON value for an argument; in a Pulumi program an Output."""

    @property
    def later(self) -> bool:
        """Whether the value is an Output, which is not known yet."""
        return hasattr(self.value, "apply")

    def problems(self, path: str) -> Iterator[Problem]:
        """What is wrong with it as an env variable, which holds text and nothing else."""
        if not isinstance(self.value, str):
            what = f"a secret variable is text, and this Secret holds {_kind(self.value)}"
            yield Problem(path, what, fix='give it text, as Secret("...")')
        elif not _is_encodable(self.value):
            what = "this Secret holds characters that UTF-8 cannot encode, so no pod can get it"
            yield Problem(path, what, fix="give it other text, for example base64 of the bytes")


def _kind(value: object) -> str:
    """What a value is, without a word of the value itself."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "an object")


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
    (Mapping, "a mapping"),
    (list, "a list"),
    (bytes, "bytes"),
    (type(None), "nothing"),
    (Secret, "another Secret"),
)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
