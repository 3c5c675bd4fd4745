"""literal-secrets: no secret stands in an object that everybody can read."""

from collections.abc import Iterator
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject, as_integer
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pods import WORKLOADS
from trainer_infra.rules.rule import (
    EVERY_KIND,
    Context,
    Finding,
    Parameters,
    Rule,
    Severity,
    Subject,
    Value,
)
from trainer_infra.rules.value import UNKNOWN, is_list, is_mapping
from trainer_infra.secret_texts.texts import kind_of_secret, names_of_items

_Text = tuple[Value, str]
"""A text, and what it is the value of: a variable, an option, a key; empty for something unnamed."""

_KIND: Final = "Secret"
_NOT_READ: Final = frozenset({"apiVersion", "kind", "status", "stringData"})
"""What says no more than which object it is; and what another rule searches."""
_OTHERS: Final = frozenset({"ConfigMap", "PersistentVolume", "StorageClass"})
"""Kinds without pods that people write secrets into."""
_METADATA: Final = ("metadata",)
_PASSED_OVER: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        *("managedFields", "encryptedData", "sops", "caBundle", "openAPIV3Schema"),
    }
)
"""Keys of a copy of the object, which kubectl writes, of who wrote it, of what is encrypted, of certificates, and of
what describes other objects."""
_FIX: Final = "revoke it, keep its successor in a Secret, and read that with valueFrom.secretKeyRef or secretRef"

_OF_CODE: Final = "code"
_FIX_OF_CODE: Final = "revoke it, and give its successor as Secret(...) in env, files or func_args"


class LiteralSecrets(Parameters):
    """What is not a secret although its name says so."""

    not_secret: tuple[str, ...] = ()
    """Names of variables and options whose values may be read by anybody, `DATA_KEY`."""


def _places(subject: Subject) -> Iterator[_Text]:
    yield from subject.once(_own)
    if subject.code is not None:
        yield from _spoken(subject.code)
    # The runtimes of the catalog have none.
    is_said_of_it = subject.runtime_is_judged or subject.runtime_is_shipped
    if subject.runtime is not None and not is_said_of_it:
        yield from _spoken(subject.runtime)


def _own(subject: Subject) -> Iterator[_Text]:
    return _spoken(subject.object)


def texts_with_secrets(subject: Subject) -> Iterator[Value]:
    """Texts of the object as it was written that have a secret in them, whatever a user excuses.

    For code that shows parts of it: nothing of these may be shown.
    """
    return (each for each, _ in subject.once(_own) if each.raw is not UNKNOWN)


def _spoken(whole: Value) -> Iterator[_Text]:
    """Every text of it that has a secret in it or is not known, however deep it lies."""
    left_out = _NOT_READ | ({"data"} if whole["kind"].raw == _KIND else set())
    fields = whole.raw if is_mapping(whole.raw) else {}
    read = {key: each for key, each in fields.items() if key not in left_out}
    return ((whole.at(*path), name) for path, name in _told(read, "", ()))


def _told(raw: Any, above: str, path: Path) -> list[tuple[Path, str]]:
    """Where below a mapping or a list a secret stands, or one may yet, and what it is the value of."""
    found: list[tuple[Path, str]] = []
    is_fields = is_mapping(raw)
    named = _named_fields(raw) if is_fields else dict(enumerate(names_of_items(raw, above)))
    for key, each in raw.items() if is_fields else enumerate(raw):
        name = named.get(key, key)
        if key in _PASSED_OVER or not isinstance(name, str):
            continue
        is_told = False
        if isinstance(each, str):
            is_told = kind_of_secret(each, name) != ""
        elif is_mapping(each) or is_list(each):
            found += _told(each, name, (*path, key))
        elif each is UNKNOWN:
            # A name or a label that is not known yet is no secret for that.
            is_told = path[:1] != _METADATA or "annotations" in (*path, key)
        elif not isinstance(each, bool):
            is_told = kind_of_secret(str(as_integer(each)), name) != ""
        if is_told:
            found.append(((*path, key), name))
    return found


def _named_fields(fields: JSONObject) -> dict[str | int, str]:
    """Fields that are the value of something else than their key; arguments are that of their command."""
    variable, command = fields.get("name"), fields.get("command")
    named: dict[str | int, str] = {"value": variable} if isinstance(variable, str) else {}
    if command and is_list(command):
        named["args"] = " ".join(each for each in command if isinstance(each, str))
    return named


def _check(place: _Text, context: Context[LiteralSecrets]) -> Iterator[Finding]:
    value, name = place
    text = value.text() or str(as_integer(value.raw))
    kind = kind_of_secret(text, name, context.parameters.not_secret)
    if kind:
        fix = _FIX_OF_CODE if value.path[:1] == (_OF_CODE,) else _FIX
        yield where_to_fix(value.finding("has a secret in it", kind, fix), "in the runtime")


RULE: Final = Rule(
    id="literal-secrets",
    title="Objects must not contain secrets",
    severity=Severity.CRITICAL,
    kinds=WORKLOADS | _OTHERS | {EVERY_KIND},
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.4.1", "owasp-k8s/K08"),
    why=(
        "Everyone who can read the object, its repository or the run's record can use the secret, "
        "and it stays in their history after you remove it."
    ),
    fix="Keep it in a Secret, refer to it with `secretKeyRef` or `secretRef`, and revoke the exposed one.",
    places=_places,
    check=_check,
    parameters=LiteralSecrets,
)
