"""Amounts of resources: what a pod asks of a machine, as far as it is known.

All are whole billionths of a unit, so that sums and quotients are exact. What is not known counts
as nothing: every amount is the least that is asked for, and what it does not fit into is too small.
Rule of a pod's sum: `render/pod_requests`, with limits for requests that are not written, as Kueue
and the scheduler see a pod.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.api.quantity import Notation, Quantity
from trainer_infra.render import pod_requests
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.value import Mark, Value

_NANOS: Final = 10**9
_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def of(pod: Pod) -> dict[str, int]:
    """What one pod asks for by resource; nothing that is zero."""
    spec = pod.spec
    wire = {
        "containers": [_container(each) for each in spec["containers"].items()],
        "initContainers": [_container(each) for each in spec["initContainers"].items()],
        "resources": _resources(spec["resources"]),
        "overhead": _written(spec["overhead"]),
    }
    found = pod_requests.single(wire, defaulted=True)
    return {name: each.nanos for name, each in found.items() if each.nanos > 0}


def count(pod: Pod) -> int:
    """How many pods run at once: no more of a Job than it has to complete.

    Raises:
        Unseen: It is not known.
    """
    parallelism = pod.job_spec["parallelism"].number()
    completions = pod.job_spec["completions"].number()
    if completions is None or completions >= (1 if parallelism is None else parallelism):
        return pod.count()
    replicas = pod.job["replicas"].number()
    return completions * (1 if replicas is None else replicas)


def read(value: Value) -> int | None:
    """The amount that is written; None where there is none that can be read.

    Raises:
        Unseen: It is not known.
    """
    amount = value.quantity()
    return None if amount is None else int(amount * _NANOS)


def text(resource: str, amount: int) -> str:
    """The amount as Kubernetes writes it."""
    binary = resource.startswith(_BYTES)
    return str(Quantity(amount, Notation.BINARY if binary else Notation.DECIMAL))


def place(pod: Pod, resource: str) -> Value:
    """Where the pod says how much of a resource it asks for; its limits where it does not."""
    node: Value | None = None
    for each in pod.spec["containers"].items():
        for part in ("limits", "requests"):
            written = each.at("resources", part, resource)
            if not isinstance(written.raw, Mark):
                return written
        node = node or each.at("resources", "limits", resource)
    return node or pod.spec["containers"]


def _container(value: Value) -> dict[str, Any]:
    resources = _resources(value["resources"])
    return {"resources": resources, "restartPolicy": value["restartPolicy"].raw}


def _resources(value: Value) -> Mapping[str, Any]:
    if value["requests"].is_noted():
        return {}
    return {part: _written(value[part]) for part in ("limits", "requests")}


def _written(value: Value) -> dict[str, Any]:
    found = {}
    for name, each in value.fields():
        if each.is_noted():
            found[name] = "0"
        elif each.quantity() is not None:
            found[name] = each.raw
    return found
