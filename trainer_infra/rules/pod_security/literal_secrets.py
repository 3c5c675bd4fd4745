"""literal-secrets: no secret stands in an object that everybody can read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pod_security import secret_forms, secret_names
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
from trainer_infra.rules.value import ABSENT, UNKNOWN, is_list, is_mapping

_Node = tuple[Path, str, Any]
"""Something on the way to the texts: where it stands, what it is the value of, and itself."""

_CONFIG_MAP: Final = "ConfigMap"
_READ: Final = (("metadata", "annotations"), ("spec",), ("data",))
"""The parts of an object that are searched."""
_ANNOTATIONS: Final = _READ[:1]
_NOT_READ: Final = frozenset(("apiVersion", "kind", "metadata", "status"))
"""Fields of a kind that no rule knows in which there is nothing of a user's."""
_NO_SECRETS: Final = (
    "bitnami.com/",
    "external-secrets.io/",
    "isindir.github.com/",
    "secrets.hashicorp.com/",
)
"""Groups of kinds with secrets that are encrypted, or with names of them."""
_CLOSED: Final = frozenset(
    ("Secret", "SealedSecret", "SecretProviderClass", "CustomResourceDefinition")
)
"""Kinds that are judged otherwise, or have no values."""
_COPY: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation with a copy of the object, which kubectl writes."""
_NAMED: Final = "value of a name that says secret"
"""The kind of a secret that has no form of its own."""
_WANDB: Final = "Weights & Biases API key"
_FIX: Final = "revoke it, keep its successor in a Secret, and read that with valueFrom.secretKeyRef or secretRef"


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
    """Every text below those parts that has a secret in it or is not known, however deep it lies."""
    waiting: list[_Node] = [
        (path, str(path[-1]), whole.at(*path).raw) for path in reversed(_read(whole))
    ]
    while waiting:
        path, name, raw = waiting.pop()
        if is_mapping(raw):
            waiting += _fields(path, raw)
        elif is_list(raw):
            waiting += _items(path, raw)
        elif _is_told(raw, name):
            yield LiteralText(whole.at(*path), name)


def _read(whole: Value) -> Sequence[Path]:
    """The parts of an object that are searched."""
    kind, version = str(whole["kind"].raw), str(whole["apiVersion"].raw)
    if kind in WORKLOADS or kind == _CONFIG_MAP:
        return _READ
    if kind in _CLOSED or version.startswith(_NO_SECRETS) or whole["sops"].raw is not ABSENT:
        return ()
    fields = whole.raw if is_mapping(whole.raw) else {}
    return (*_ANNOTATIONS, *((key,) for key in fields if key not in _NOT_READ))


def _fields(path: Path, fields: JSONObject) -> list[_Node]:
    """The last one first, as of a stack."""
    found: list[_Node] = []
    variable = fields.get("name")
    for key, each in fields.items():
        name = variable if key == "value" and isinstance(variable, str) else key
        if isinstance(key, str) and key != _COPY and _is_told(each, name):
            found.append(((*path, key), name, each))
    return found[::-1]


def _items(path: Path, items: Sequence[Any]) -> list[_Node]:
    """The last one first; what stands behind an option is its value."""
    found: list[_Node] = []
    option = ""
    for index, each in enumerate(items):
        if _is_told(each, option):
            found.append(((*path, index), option, each))
        is_option = isinstance(each, str) and each.startswith("-") and "=" not in each
        option = each if is_option else ""
    return found[::-1]


def _is_told(raw: Any, name: str) -> bool:
    """Whether it is a secret, may become one, or may have one below it."""
    return bool(kind_of_secret(raw, name)) if isinstance(raw, str) else raw is not None


def _check(place: LiteralText, context: Context[LiteralSecrets]) -> Iterator[Finding]:
    kind = kind_of_secret(place.value.text(), place.name, context.parameters.not_secret)
    if kind:
        yield where_to_fix(place.value.finding("has a secret in it", kind, _FIX), "in the runtime")


@lru_cache(maxsize=1 << 14)
def kind_of_secret(text: str, name: str, not_secret: tuple[str, ...] = ()) -> str:
    """What kind of secret a text has in it; empty for none. Never the secret.

    `name` is what it is the value of, empty for something unnamed; values of names in `not_secret`
    may be read by anybody.
    """
    for each in secret_forms.kinds(text):
        return each
    for called, value in ((name, text), *secret_names.assigned_values(text)):
        plain = called.lstrip("-")
        if plain in not_secret or not secret_names.says_secret(plain):
            continue
        if secret_names.looks_secret(value) or secret_names.looks_chosen(plain, value):
            return _WANDB if "wandb" in plain.lower() else _NAMED
    return ""


RULE: Final = Rule(
    id="literal-secrets",
    title="Objects must not contain secrets",
    severity=Severity.CRITICAL,
    kinds=WORKLOADS | {_CONFIG_MAP, EVERY_KIND},
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
