"""A text: what kind of secret it has in it, which parts of it are secret, and what may be shown of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from trainer_infra.names import SECRET_SHOWN
from trainer_infra.secret_texts import assignments, command_lines, forms
from trainer_infra.secret_texts.assignments import is_secret_value

_NAMED: Final = "value of a name that says secret"
"""The kind of a secret that has no form of its own."""
_WANDB: Final = "Weights & Biases API key"


@lru_cache(maxsize=1 << 14)
def kind_of_secret(text: str, name: str, not_secret: tuple[str, ...] = ()) -> str:
    """What kind of secret a text has in it; empty for none. Never the secret.

    `name` is what it is the value of, empty for something unnamed; values of names in `not_secret`
    may be read by anybody.
    """
    for each in forms.kinds(text):
        return each
    plain = name.lstrip("-")
    if plain not in not_secret and is_secret_value(plain, text):
        return _of_name(plain)
    for part in (text, *(plain for _, plain in forms.decoded_parts(text))):
        for found in assignments.assigned_values(part):
            if found.name not in not_secret and found.is_secret:
                return _of_name(found.name)
    return ""


def secret_parts(text: str) -> Iterator[str]:
    """What in a text, such as a command line or an address, is a secret itself."""
    for form in forms.FORMS:
        if form.mark in text:
            yield from (found[0] for found in form.found_in(text))
    yield from (each.value for each in assignments.assigned_values(text) if each.is_secret)
    yield from (part for part, plain in forms.decoded_parts(text) if any(secret_parts(plain)))


def shown_text(text: str) -> str:
    """The text as a message may quote it: without what looks like a secret."""
    found = sorted(set(secret_parts(text)), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, found)), SECRET_SHOWN, text) if found else text


def shown_value(value: Any, name: str = "") -> Any:
    """The JSON value as a message may quote it; `name` is what it is the value of."""
    if isinstance(value, str):
        plain = name.lstrip("-")
        return SECRET_SHOWN if is_secret_value(plain, value) else shown_text(value)
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


def words_of_command(items: Sequence[Any], above: str = "") -> Iterator[tuple[Any, str]]:
    """The items of a list, each with what it is the value of: an option, or a place that a program knows.

    `above` is the command whose arguments they are; a further option is the value of none.
    """
    line = " ".join((above, *(each for each in items if isinstance(each, str))))
    given = [each for each in command_lines.given_passwords(line) if is_secret_value(*each)]
    option = ""
    for each in items:
        is_option = isinstance(each, str) and each.startswith("-")
        name = "" if is_option else option
        if isinstance(each, str):
            name = next((called for called, value in given if value in each), name)
        yield each, name
        option = each if is_option and "=" not in each else ""


def _shown_items(items: Sequence[Any], name: str) -> Iterator[Any]:
    for each, own in words_of_command(items):
        yield shown_value(each, own or ("" if isinstance(each, str) and each[:1] == "-" else name))


def _of_name(name: str) -> str:
    return _WANDB if "wandb" in name.lower() else _NAMED
