"""containers: a pod has containers, each with a name of its own and policies that there are.

Source: Kubernetes' validation of pods (`validateContainers`, `validateInitContainers`,
`validateContainerCommon`, `validateResizePolicy`). Kubernetes 1.35 takes other restart policies than
Always from init containers, and any from the others; those are not findings.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.admission import field
from trainer_infra.rules.name_syntax import DNS_LABEL
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_POD: Final = "Pod"
_NEVER: Final = "Never"
_LEFT_ALONE: Final = "NotRequired"
_RESIZED: Final = ("cpu", "memory")
_RESTARTED: Final = (_LEFT_ALONE, "RestartContainer")
_CONTAINERS: Final = field.items(
    field.every(
        field.required("name"),
        field.fields(
            {
                "name": field.text(DNS_LABEL),
                "imagePullPolicy": field.choice("Always", "IfNotPresent", "Never"),
                "terminationMessagePolicy": field.choice("File", "FallbackToLogsOnError"),
                "restartPolicy": field.choice("Always", "OnFailure", "Never", is_optional=False),
                "resizePolicy": field.every(
                    field.items(
                        field.every(
                            field.required("resourceName", "restartPolicy"),
                            field.fields(
                                {
                                    "resourceName": field.choice(*_RESIZED),
                                    "restartPolicy": field.choice(*_RESTARTED),
                                }
                            ),
                        )
                    ),
                    field.unique("resourceName"),
                ),
            }
        ),
    )
)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_pod(pod, context.subject.kind), context)


def _of_pod(pod: Pod, kind: str) -> Iterator[Finding]:
    written = pod.spec["containers"]
    if written.is_there() and not written.raw:
        yield written.finding("must have a container")
    for key in ("initContainers", "containers"):
        yield from field.found_in(pod.spec[key], _CONTAINERS)
    yield from _unique_names(pod)
    debugging = pod.spec["ephemeralContainers"]
    if any(True for _ in debugging.items()):
        where = "are added to a pod that runs" if kind == _POD else "have no place in a template"
        yield debugging.finding(where, None, "remove them, or make them containers")
    if pod.spec["restartPolicy"].text() == _NEVER:
        yield from _never_restarted(pod)


def _unique_names(pod: Pod) -> Iterator[Finding]:
    seen = set()
    for container in _all(pod):
        name = container["name"].text()
        if name in seen:
            yield container["name"].finding("is the name of two containers of the pod", name)
        elif name:
            seen.add(name)


def _never_restarted(pod: Pod) -> Iterator[Finding]:
    for container in _all(pod):
        for each in container["resizePolicy"].items():
            said = each["restartPolicy"]
            if said.text() == _RESTARTED[1]:
                what = f"must be {_LEFT_ALONE} where the pod's restartPolicy is {_NEVER}"
                yield said.finding(what, said.text())


def _all(pod: Pod) -> Iterator[Value]:
    yield from pod.spec["containers"].items()
    yield from pod.spec["initContainers"].items()


RULE: Final = Rule(
    id="containers",
    title="A pod has containers, with names of their own and policies that there are",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission",),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Name each container of a pod otherwise, with lower-case letters, digits and -.",
    places=pods.pods_of,
    check=_check,
)
