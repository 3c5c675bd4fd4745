"""container-ports: the ports of containers are ports, and their names are names.

Source: Kubernetes' validation of pods (`validateContainerPorts`, `checkHostPortConflicts`,
`validatePodHostNetworkDeps`).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, written_places
from trainer_infra.rules.name_syntax import PORT_NAME
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_HIGHEST: Final = 65535
_TCP: Final = "TCP"
_PORTS: Final = field.every(
    field.items(
        field.every(
            field.required("containerPort"),
            field.fields(
                {
                    "name": field.text(PORT_NAME),
                    "containerPort": field.number(1, _HIGHEST),
                    "hostPort": field.number(0, _HIGHEST),
                    "protocol": field.choice("SCTP", _TCP, "UDP"),
                }
            ),
        )
    ),
    field.unique("name"),
)


def _places(subject: Subject) -> Iterator[Pod]:
    found = written_places.containers_with("ports")(subject)
    yield from {id(each.pod): each.pod for each in found}.values()


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_pod(pod), context)


def _of_pod(pod: Pod) -> Iterator[Finding]:
    for container in pod.spec["initContainers"].items():
        yield from field.found_in(container["ports"], _PORTS)
    for container in pod.spec["containers"].items():
        yield from field.found_in(container["ports"], _PORTS)
    yield from field.found_in(pod.spec["containers"], _of_node)
    if pod.spec["hostNetwork"].flag():
        yield from field.found_in(pod.spec["containers"], _with_host_network)


def _of_node(containers: Value) -> Iterator[Finding]:
    """A port of the node is taken by one container."""
    taken = set()
    for port in _ports(containers):
        host = port["hostPort"].number()
        said = (port["protocol"].text() or _TCP, port["hostIP"].text(), host)
        if host and said in taken:
            yield port["hostPort"].finding("is taken by another port of the pod", host)
        taken.add(said)


def _with_host_network(containers: Value) -> Iterator[Finding]:
    for port in _ports(containers):
        host, own = port["hostPort"].number(), port["containerPort"].number()
        if host and own and host != own:
            what = "must be the containerPort where the pod has the node's network"
            yield port["hostPort"].finding(what, host, "leave it out")


def _ports(containers: Value) -> Iterator[Value]:
    for container in containers.items():
        yield from container["ports"].items()


RULE: Final = Rule(
    id="container-ports",
    title="Ports of containers are from 1 to 65535 and have names of their own",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "network"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write a containerPort from 1 to 65535, and names of at most 15 lower-case letters.",
    places=_places,
    check=_check,
)
