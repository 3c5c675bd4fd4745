"""helper-gpus: accelerators are for containers that compute.

Helpers are initializers, MPI's launcher that only starts the others, init containers, and containers
beside the one that trains. An init container that asks for no more than the pod has later anyway costs
nothing, and some test the GPUs so. A container beside training that serves a model computes.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from trainer_infra import names
from trainer_infra.render import resolve
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.value import ABSENT

_SERVES: Final = re.compile(
    r"vllm|sglang|tgi|triton|infer|serv|rollout|sampler|reward|teacher|critic|generat|eval|judge",
    re.IGNORECASE,
)
"""What names, images and commands of containers have in them that run a model beside the training."""


_STARTS: Final = "this job only starts the others"


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    asking = [each for each in lookup.items(pod.spec["containers"]) if _devices(each) is not None]
    if pod.step in pods.INITIALIZERS or _only_starts(pod, context):
        why = "an initializer downloads" if pod.step in pods.INITIALIZERS else _STARTS
        for each in asking:
            yield from _of(each, why)
        return
    main = resolve.main_container(pod.name(), [each["name"].text() for each in asking])
    for each in asking:
        if each["name"].text() != main and not _serves(each):
            yield from _of(each, f"{main!r} is what trains")
    yield from _of_init(pod, asking)


def _of_init(pod: Pod, asking: Iterable[Value]) -> Iterator[Finding]:
    most = sum((each.count for each in map(amounts.gpus_of, asking) if each), Decimal(0))
    for each in pod.spec["initContainers"].items():
        found, stays = amounts.gpus_of(each), each["restartPolicy"].text() == "Always"
        is_more = found is not None and found.count > most
        if (is_more or (stays and _devices(each) is not None)) and not _serves(each):
            yield from _of(each, "a sidecar only helps" if stays else "the pod has fewer later")


def _of(container: Value, why: str) -> Iterator[Finding]:
    where = _devices(container)
    if where is not None:
        what = f"asks for accelerators, and does not compute: {why}"
        yield where.finding(what, where.raw, "take it away")


def _devices(container: Value) -> Value | None:
    """Where a container asks for accelerators, or claims devices; None where it does not."""
    if container["resources"].raw is ABSENT:
        return None
    for each in ("limits", "requests", "claims"):
        container.at("resources", each).is_there()
    found, claims = amounts.gpus_of(container), container.at("resources", "claims")
    if found is not None:
        return found.place
    return claims if any(True for _ in claims.items()) else None


def _only_starts(pod: Pod, context: Context[Parameters]) -> bool:
    policy = context.subject.ml_policy["mpi"]
    return (
        pod.name() == names.LAUNCHER
        and policy.is_there()
        and not policy["runLauncherAsNode"].flag()
    )


def _serves(container: Value) -> bool:
    texts = [container[each].text() for each in ("name", "image")]
    lists = (container[part] for part in ("command", "args"))
    texts += [word.text() for one in lists for word in lookup.items(one)]
    return any(map(_SERVES.search, texts))


RULE: Final = Rule(
    id="helper-gpus",
    title="Containers that only help must not ask for accelerators",
    severity=Severity.MEDIUM,
    kinds=pods.COMPUTING,
    tags=("capacity", "gpu", "cost"),
    why="The GPUs are reserved and paid for, and others wait for them, while nothing computes on them.",
    fix="Ask for accelerators only in the container that trains.",
    places=pods.pods_of,
    check=_check,
)
