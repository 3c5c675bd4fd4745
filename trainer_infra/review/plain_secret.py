"""Whether a file of a repository has a Secret with what it is to keep: everybody who reads it has that, too.

The rule literal-secrets speaks for it, whatever tool the Secret went through. A stack's own Secrets, a
cluster's, and values that Helm draws at random stand in no file.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.json_values import JSONObject
from trainer_infra.review.documents import Document, value_at
from trainer_infra.secret_texts import forms, texts, values, variable_names
from trainer_infra.secret_texts.values import is_placeholder, without_references

KIND: Final = "Secret"
_PARTS: Final = ("data", "stringData")
_PUBLIC: Final = re.compile(r"(?:.*\.)?(?:crt|cer|pub|csr)", re.IGNORECASE)
"""Keys of certificates and public keys."""
_OPEN: Final = re.compile(
    r"(?:.*\.)?(?:(?:db|s3|aws)?[-_]?(?:user|username|namespace|host|hostname|port|region|type|email|database))",
    re.IGNORECASE,
)
"""Keys of what is not a secret: names and addresses."""
_PLAIN: Final = re.compile(r"[-+]?\d+(?:\.\d+)?|true|false|null|none|yes|no|on|off", re.IGNORECASE)
"""Settings beside the secrets of a file."""
_LINE: Final = re.compile(
    r"\s*(?:-\s+|export\s+)?[\"']?([A-Za-z_][\w.-]*)[\"']?\s*[=:]\s*(.*?)\s*,?"
)
"""A line of an INI, a dotenv, a properties or a YAML file: its name and its value."""
_VARIABLE: Final = re.compile(r"(?:export\s+)?[A-Z][A-Z0-9_]*=.+")
_NO_VALUE: Final = re.compile(r"\s*(?:[#;!].*|\[[^\]]*\]|---|[{}\[\],]*)\s*")
"""A line of such a file without one."""
_ENCRYPTED: Final = "sops"
_FIX: Final = (
    "take it out and revoke it; make the Secret outside of the repository, or keep it encrypted as a "
    "SealedSecret, an ExternalSecret or with SOPS"
)


def plain_secret_findings(document: Document) -> Iterator[FieldFinding]:
    """One for a Secret whose values stand in a file."""
    value = document.value
    is_secret = value.get("kind") == KIND and value.get("apiVersion") in {None, "v1"}
    is_of_cluster = value_at(value, ("metadata", "uid")) is not None
    if not is_secret or is_of_cluster or _ENCRYPTED in value:
        return
    kept = [
        path
        for path, text in _values(value)
        if path not in document.drawn and _is_kept(path[1], text)
    ]
    if kept:
        more = f", as {len(kept) - 1} more" if kept[1:] else ""
        what = f"is a secret that everyone who reads this file can use{more}"
        yield FieldFinding(kept[0], what, fix=_FIX)


def different_values(one: JSONObject, other: JSONObject) -> frozenset[Path]:
    """Where the values of a Secret are not those of another one; nothing for what is not a Secret."""
    there = dict(_values(other))
    found = _values(one) if one.get("kind") == KIND else ()
    return frozenset(path for path, text in found if there.get(path) != text)


def _values(value: JSONObject) -> Iterator[tuple[tuple[str, str], str]]:
    """What it is to keep, each with its path; nothing of what SOPS has encrypted."""
    for part in _PARTS:
        content = value.get(part)
        texts = content if isinstance(content, Mapping) else {}
        if any(str(key).startswith(f"{_ENCRYPTED}_") for key in texts):
            continue
        for key, each in texts.items():
            is_value = isinstance(each, str | int | float) and not isinstance(each, bool)
            if isinstance(key, str) and is_value:
                text = str(each)
                yield (part, key), (forms.decoded_text(text) if part == "data" else "") or text


def _is_kept(key: str, text: str) -> bool:
    """Whether a value has something in it that is to be kept."""
    if any(form for form, _, _ in texts.secrets_in(text)):
        return True
    if is_placeholder(text) or _PUBLIC.fullmatch(key):
        return False
    inside = _settings(text)
    if inside is None:
        return not _is_open(key, text)
    named = [each for each in inside if variable_names.says_secret(each[0])] or inside
    return any(not _is_open(*each) for each in named) or any(
        values.looks_secret(value) and not _is_open(name, value) for name, value in inside
    )


def _is_open(name: str, text: str) -> bool:
    """Whether anybody may read it: a placeholder, a name, an address without a password."""
    text = values.with_defaults(text)
    rest = without_references(text)
    if rest != text and not values.looks_secret(rest):
        return True
    is_name = _OPEN.fullmatch(name) is not None or variable_names.is_about_secret(name)
    return is_placeholder(text) or (is_name and "\n" not in text.strip())


def _settings(text: str) -> list[tuple[str, str]] | None:
    """Names and values of a text that is a file of settings; None where it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return _lines(text)
    if not isinstance(value, dict | list):
        return None
    return [] if _ENCRYPTED in value else list(_leaves("", value))


def _lines(text: str) -> list[tuple[str, str]] | None:
    lines = [each for each in text.strip().splitlines() if not _NO_VALUE.fullmatch(each)]
    found = [_LINE.fullmatch(each) for each in lines]
    is_one = len(found) == 1 and not _VARIABLE.fullmatch(lines[0])
    if not found or is_one or not all(found):
        return None
    pairs = [(each[1], each[2].strip("\"'")) for each in found if each]
    return [(name, value) for name, value in pairs if value and not _PLAIN.fullmatch(value)]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The texts of a JSON value, each with the name that it stands under."""
    if isinstance(value, str):
        yield name, value
    for key, each in value.items() if isinstance(value, dict) else ():
        yield from _leaves(key, each)
    for each in value if isinstance(value, list) else ():
        yield from _leaves(name, each)
