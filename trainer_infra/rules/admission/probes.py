"""probes: a probe and a moment of the lifecycle do one thing, and count as Kubernetes can.

Source: Kubernetes' validation of pods (`validateProbe`, `validateHandler`, `validateLifecycle`,
`validateInitContainers`).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, written_places
from trainer_infra.rules.name_syntax import HEADER_NAME, PORT_NAME
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_HIGHEST: Final = 65535
_GRACE: Final = 30
"""Seconds that a pod has to end where it says nothing."""
_ALWAYS: Final = "Always"
_OF_PROBES: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_LIFECYCLE: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_MOMENTS: Final = ("postStart", "preStop")


def _port(handler: Value) -> Iterator[Finding]:
    port = handler["port"]
    said = port.raw
    if not port.is_there():
        yield port.finding("is required")
    elif isinstance(said, str):
        if not PORT_NAME.fits(said):
            fix = "write a port without quotes, or the name of one"
            yield port.finding(f"must be {PORT_NAME.words}, or a number", said, fix)
    else:
        yield from field.number(1, _HIGHEST)(port)


def _command(handler: Value) -> Iterator[Finding]:
    command = handler["command"]
    if not field.all_items(command):
        yield command.finding("is required", None, "write what is to be run")


_HEADERS: Final = field.items(
    field.every(field.required("name"), field.fields({"name": field.text(HEADER_NAME)}))
)
_HANDLER: Final = field.fields(
    {
        "exec": _command,
        "httpGet": field.every(
            _port,
            field.fields({"scheme": field.choice("HTTP", "HTTPS"), "httpHeaders": _HEADERS}),
        ),
        "tcpSocket": _port,
        "grpc": _port,
    }
)
_PROBE: Final = field.every(
    field.one_of(*_OF_PROBES),
    _HANDLER,
    field.fields(
        {
            **dict.fromkeys(
                ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"),
                field.number(0),
            ),
            "successThreshold": field.number(0),
            "terminationGracePeriodSeconds": field.number(1),
        }
    ),
)


def _counts_one(probe: Value) -> Iterator[Finding]:
    threshold = probe["successThreshold"]
    if (threshold.number() or 0) > 1:
        yield threshold.finding("must be 1, but for a readinessProbe", threshold.number())


_ENDS_NOTHING: Final = field.forbidden("must not be written for a readinessProbe, which ends none")
_CONTAINER: Final = field.fields(
    {
        "livenessProbe": field.every(_PROBE, _counts_one),
        "startupProbe": field.every(_PROBE, _counts_one),
        "readinessProbe": field.every(
            _PROBE, field.fields({"terminationGracePeriodSeconds": _ENDS_NOTHING})
        ),
        "lifecycle": field.fields(
            dict.fromkeys(_MOMENTS, field.every(field.one_of(*_OF_LIFECYCLE), _HANDLER))
        ),
    }
)
_TO_END: Final = field.fields(
    dict.fromkeys(
        (*_PROBES, "lifecycle"),
        field.forbidden(
            "must not be written for an init container whose restartPolicy is not Always"
        ),
    )
)


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    runs_to_end = place.is_init and place.value["restartPolicy"].text() != _ALWAYS
    found = field.found_in(place.value, _TO_END if runs_to_end else _CONTAINER)
    yield from field.unsaid(found, context)
    if not runs_to_end and place.value["lifecycle"].is_there():
        yield from _sleeps(place)


def _sleeps(place: PodContainer) -> Iterator[Finding]:
    said = place.pod.spec["terminationGracePeriodSeconds"].number()
    grace = _GRACE if said is None else said
    for moment in _MOMENTS:
        seconds = place.value.at("lifecycle", moment, "sleep", "seconds")
        if not 0 <= (seconds.number() or 0) <= max(grace, 0):
            what = f"must be from 0 to the {grace} s that the pod has to end"
            yield seconds.finding(what, seconds.number())


RULE: Final = Rule(
    id="probes",
    title="Probes and lifecycle handlers do one thing each, with numbers that count",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "probes"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write one of exec, httpGet, tcpSocket and grpc, with a port or a command.",
    places=written_places.containers_with(*_PROBES, "lifecycle"),
    check=_check,
)
