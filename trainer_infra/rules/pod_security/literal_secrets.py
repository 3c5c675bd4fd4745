"""literal-secrets: no secret stands in an object that everybody can read."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from trainer_infra import names
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.pod_security import secret_forms, secret_names
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.rule import Context, Parameters, Rule
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import UNKNOWN, Value

_CONFIG_MAP: Final = "ConfigMap"
_READ: Final = (("metadata", "annotations"), ("spec",), ("data",))
"""The parts of an object that are searched."""
_COPY: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation with a copy of the object, which kubectl writes."""
_NAMED: Final = "value of a name that says secret"
"""The kind of a secret that has no form of its own."""
_WANDB: Final = "Weights & Biases API key"
_FIX: Final = "revoke it, keep its successor in a Secret, and read that with valueFrom.secretKeyRef or secretRef"


class LiteralSecrets(Parameters):
    """What is no secret although its name says so."""

    not_secret: tuple[str, ...] = ()
    """Names of variables and options whose values may be read by anybody, `DATA_KEY`."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A text of the object."""

    value: Value
    """The text."""
    name: str
    """What it is the value of: a variable, an option, a key; empty for something unnamed."""


def _places(subject: Subject) -> Iterator[Spoken]:
    yield from _spoken(subject.object)
    if subject.runtime is not None and not subject.runtime_is_judged:
        yield from _spoken(subject.runtime)


def found(subject: Subject) -> Iterator[Value]:
    """Texts of the object as it was written that have a secret in them, whatever a user excuses.

    For whoever shows parts of it: nothing of these may be told.
    """
    for each in _spoken(subject.object):
        if isinstance(each.value.raw, str) and _kind(each.value.raw, each.name, ()):
            yield each.value


def _spoken(whole: Value) -> Iterator[Spoken]:
    """Every text below those parts, however deep it lies."""
    waiting = [Spoken(whole.at(*path), "") for path in reversed(_READ)]
    while waiting:
        here = waiting.pop()
        if here.value.raw is UNKNOWN or isinstance(here.value.raw, str):
            yield here
        else:
            waiting += reversed((*_fields(here.value), *_items(here.value)))


def _fields(value: Value) -> Iterator[Spoken]:
    variable = value["name"].raw
    for key, each in value.fields():
        if key != _COPY:
            name = variable if key == "value" and isinstance(variable, str) else key
            yield Spoken(each, name)


def _items(value: Value) -> Iterator[Spoken]:
    option = ""
    for each in value.items():
        yield Spoken(each, option)
        text = each.raw if isinstance(each.raw, str) else ""
        option = text if text.startswith("-") and "=" not in text else ""


def _check(place: Spoken, context: Context[LiteralSecrets]) -> Iterator[Finding]:
    kind = _kind(place.value.text(), place.name, context.parameters.not_secret)
    if kind:
        yield where_to_fix(place.value.finding("has a secret in it", kind, _FIX), "in the runtime")


@lru_cache(maxsize=1 << 14)
def _kind(text: str, name: str, not_secret: tuple[str, ...]) -> str:
    """What kind of secret it has in it; empty for none. Never the secret."""
    for each in secret_forms.kinds(text):
        return each
    for called, value in ((name, text), *secret_names.assigned(text)):
        plain = called.lstrip("-")
        is_said = plain not in not_secret and secret_names.says_secret(plain)
        if is_said and secret_names.looks_secret(value):
            return _WANDB if "wandb" in plain.lower() else _NAMED
    return ""


RULE: Final = Rule(
    id="literal-secrets",
    title="No secret is written into an object",
    severity=Severity.CRITICAL,
    kinds=names.WITH_PODS | {_CONFIG_MAP},
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.4.1", "owasp-k8s/K08"),
    why=(
        "Everybody who may read the object, its repository or the run's record can use the secret, "
        "and it stays in their history after it is removed."
    ),
    fix="Keep it in a Secret, refer to that with `secretKeyRef` or `secretRef`, and revoke it.",
    places=_places,
    check=_check,
    parameters=LiteralSecrets,
)
