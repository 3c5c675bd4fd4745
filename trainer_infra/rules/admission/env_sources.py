"""env-sources: a variable has a name, and its value from one place.

Source: Kubernetes' validation of pods (`ValidateEnv`, `ValidateEnvFrom`). Names are those of
Kubernetes 1.34 and later, which takes all of printable ASCII.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, written_places
from trainer_infra.rules.admission.field_references import FIELD_OF_VARIABLE, RESOURCE_OF_VARIABLE
from trainer_infra.rules.name_syntax import (
    CONFIG_MAP_KEY,
    DNS_LABEL,
    DNS_SUBDOMAIN,
    ENV_NAME,
    PATH_WITHOUT_STEPS_UP,
    Syntax,
)
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_SOURCES: Final = {
    "fieldRef": FIELD_OF_VARIABLE,
    "resourceFieldRef": RESOURCE_OF_VARIABLE,
    **dict.fromkeys(
        ("configMapKeyRef", "secretKeyRef"),
        field.every(
            field.required("name", "key"),
            field.fields({"name": field.text(DNS_SUBDOMAIN), "key": field.text(CONFIG_MAP_KEY)}),
        ),
    ),
    "fileKeyRef": field.every(
        field.required("key", "volumeName", "path"),
        field.fields(
            {
                "key": field.text(ENV_NAME),
                "volumeName": field.text(DNS_LABEL),
                "path": field.text(PATH_WITHOUT_STEPS_UP),
            }
        ),
    ),
}
_PREFIX: Final = Syntax(
    DNS_SUBDOMAIN.words, lambda text: DNS_SUBDOMAIN.fits(f"{text[:-1]}a" if text[1:] else text)
)
"""A name of which Kubernetes judges only a beginning may end with -."""


def _of_value(variable: Value) -> Iterator[Finding]:
    source = variable["valueFrom"]
    if source.is_there() and variable["value"].text():
        yield source.finding("must not be written beside value", None, "remove one of the two")


_ENV: Final = field.items(
    field.every(
        field.required("name"),
        field.fields(
            {
                "name": field.text(ENV_NAME),
                "valueFrom": field.every(field.one_of(*_SOURCES), field.fields(_SOURCES)),
            }
        ),
        _of_value,
    )
)
_NAMED: Final = field.every(field.required("name"), field.fields({"name": field.text(_PREFIX)}))
_ENV_FROM: Final = field.items(
    field.every(
        field.one_of("configMapRef", "secretRef"),
        field.fields({"prefix": field.text(ENV_NAME), "configMapRef": _NAMED, "secretRef": _NAMED}),
    )
)
_CONTAINER: Final = field.fields({"env": _ENV, "envFrom": _ENV_FROM})


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(field.found_in(place.value, _CONTAINER), context)


RULE: Final = Rule(
    id="env-sources",
    title="A variable has a name, and its value from one place",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "env"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write `value`, or `valueFrom` with one source and all that names it.",
    places=written_places.containers_with("env", "envFrom"),
    check=_check,
)
