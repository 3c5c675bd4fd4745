"""A text: what kind of secret it has in it, which parts of it are secret, and what may be shown of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from trainer_infra.names import SECRET_SHOWN
from trainer_infra.secret_texts import assignments, command_lines, forms
from trainer_infra.secret_texts.variable_names import is_secret_value

_NAMED: Final = "value of a name that says secret"
"""The kind of a secret that has no form of its own."""
_WANDB: Final = "Weights & Biases API key"


@lru_cache(maxsize=1 << 14)
def kind_of_secret(text: str, name: str, not_secret: tuple[str, ...] = ()) -> str:
    """What kind of secret a text has in it; empty for none. Never the secret.

    `name` is what it is the value of, empty for something unnamed; values of names in `not_secret`
    may be read by anybody.
    """
    plain = name.lstrip("-")
    own = (("", plain, text),) if is_secret_value(plain, text) else ()
    for form, called, _ in chain(secrets_in(text), own):
        if form or called not in not_secret:
            return form or (_WANDB if "wandb" in called.lower() else _NAMED)
    return ""


def secret_parts(text: str) -> Iterator[str]:
    """What in a text, such as a command line or an address, is a secret itself."""
    yield from (part for _, _, part in secrets_in(text))


def secrets_in(text: str) -> Iterator[tuple[str, str, str]]:
    """The secrets in a text, in base64 too: the kind of each known form, else the name that it is given to, and itself."""
    yield from ((form, "", part) for form, part in forms.secrets_by_form(text))
    yield from (("", name, part) for name, part in assignments.assigned_secrets(text))
    for part, plain in forms.decoded_parts(text):
        yield from ((form, name, part) for form, name, _ in secrets_in(plain))


def shown_text(text: str) -> str:
    """The text as a message may quote it: without what looks like a secret."""
    found = sorted(set(secret_parts(text)), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, found)), SECRET_SHOWN, text) if found else text


def shown_value(value: Any, name: str = "") -> Any:
    """The JSON value as a message may quote it; `name` is what it is the value of."""
    if isinstance(value, str | int | float):
        if is_secret_value(name.lstrip("-"), str(value)):
            return SECRET_SHOWN
        return shown_text(value) if isinstance(value, str) else value
    if isinstance(value, bytes):
        text = value.decode(errors="replace")
        shown = shown_value(text, name)
        return value if shown == text else shown
    if isinstance(value, Mapping):
        whose = value.get("name")
        return {
            shown_text(key) if isinstance(key, str) else key: shown_value(
                each, whose if key == "value" and isinstance(whose, str) else str(key)
            )
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        shown = list(_shown_items(value, name))
        return shown if isinstance(value, list) else tuple(shown)
    return value


def names_of_items(items: Sequence[Any], above: str = "") -> list[str]:
    """What each item of a list is the value of: an option, or a place that a program knows; else empty.

    `above` is the command whose arguments they are; a further option is the value of none.
    """
    words = [each for each in items if isinstance(each, str)]
    if not words:
        return [""] * len(items)
    given = tuple(command_lines.given_passwords(" ".join((above, *words))))
    names: list[str] = []
    option = ""
    for each in items:
        is_option = isinstance(each, str) and each.startswith("-")
        name = "" if is_option else option
        if given and isinstance(each, str):
            name = next((called for called, value in given if value in each), name)
        names.append(name)
        option = each if is_option and "=" not in each else ""
    return names


def _shown_items(items: Sequence[Any], name: str) -> Iterator[Any]:
    for each, own in zip(items, names_of_items(items), strict=True):
        yield shown_value(each, own or ("" if isinstance(each, str) and each[:1] == "-" else name))
