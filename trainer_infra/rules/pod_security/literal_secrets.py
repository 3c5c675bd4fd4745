"""literal-secrets: no secret stands in an object that everybody can read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from trainer_infra.secret_texts.texts import kind_of_secret, words_of_command

_Node = tuple[Path, str, Any]
"""Something on the way to the texts: where it stands, what it is the value of, and itself."""

_KIND: Final = "Secret"
_NOT_READ: Final = frozenset({"apiVersion", "kind", "status", "stringData"})
"""What says no more than which object it is; and what another rule searches."""
_OTHERS: Final = frozenset({"ConfigMap", "PersistentVolume", "StorageClass"})
"""Kinds without pods that people write secrets into."""
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


@dataclass(frozen=True, slots=True)
class LiteralText:
    """A text of the object."""

    value: Value
    """The text."""
    name: str
    """What it is the value of: a variable, an option, a key; empty for something unnamed."""


def _places(subject: Subject) -> Iterator[LiteralText]:
    yield from subject.once(_own)
    if subject.code is not None:
        yield from _spoken(subject.code)
    if subject.runtime is not None and not subject.runtime_is_judged:
        yield from _spoken(subject.runtime)


def _own(subject: Subject) -> Iterator[LiteralText]:
    return _spoken(subject.object)


def texts_with_secrets(subject: Subject) -> Iterator[Value]:
    """Texts of the object as it was written that have a secret in them, whatever a user excuses.

    For code that shows parts of it: nothing of these may be shown.
    """
    for each in subject.once(_own):
        if each.value.raw is not UNKNOWN:
            yield each.value


def _spoken(whole: Value) -> Iterator[LiteralText]:
    """Every text of it that has a secret in it or is not known, however deep it lies."""
    left_out = _NOT_READ | ({"data"} if whole["kind"].raw == _KIND else set())
    fields = whole.raw if is_mapping(whole.raw) else {}
    waiting: list[_Node] = [
        ((), "", {key: each for key, each in fields.items() if key not in left_out})
    ]
    while waiting:
        path, name, raw = waiting.pop()
        if is_mapping(raw):
            waiting += reversed([*_fields(path, raw)])
        elif is_list(raw):
            waiting += reversed([*_items(path, name, raw)])
        else:
            yield LiteralText(whole.at(*path), name)


def _fields(path: Path, fields: JSONObject) -> Iterator[_Node]:
    """Those with a secret; arguments are the value of their command."""
    variable, command = fields.get("name"), fields.get("command")
    for key, each in fields.items():
        if key in _PASSED_OVER or not isinstance(key, str):
            continue
        name = variable if key == "value" and isinstance(variable, str) else key
        if key == "args" and is_list(command):
            name = " ".join(one for one in command if isinstance(one, str))
        # A name or a label that is not known yet is no secret for that.
        is_known = each is not UNKNOWN or path[:1] != ("metadata",) or "annotations" in (*path, key)
        if is_known and _is_told(each, name):
            yield (*path, key), name, each


def _items(path: Path, above: str, items: Sequence[Any]) -> Iterator[_Node]:
    """Those with a secret: what stands behind an option is its value, and some programs know it by its place."""
    for index, (each, name) in enumerate(words_of_command(items, above)):
        if _is_told(each, name):
            yield (*path, index), name, each


def _is_told(raw: Any, name: str) -> bool:
    """Whether it is a secret, may become one, or may have one below it."""
    if isinstance(raw, str):
        return kind_of_secret(raw, name) != ""
    if isinstance(raw, int | float):
        return kind_of_secret(str(as_integer(raw)), name) != ""
    return raw is not None


def _check(place: LiteralText, context: Context[LiteralSecrets]) -> Iterator[Finding]:
    value = place.value
    text = value.text() or str(as_integer(value.raw))
    kind = kind_of_secret(text, place.name, context.parameters.not_secret)
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
