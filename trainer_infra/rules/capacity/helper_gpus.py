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

_SERVES: Final = re.compile(
    r"vllm|sglang|tgi|triton|infer|serv|rollout|sampler|reward|teacher|critic|generat|eval|judge",
    re.IGNORECASE,
)
"""What names, images and commands of containers have in them that run a model beside the training."""


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    found = ((each, _devices(each)) for each in lookup.items(pod.spec["containers"]))
    asking = [(each, where) for each, where in found if where is not None]
    why = _why(pod, context)
    main = resolve.main_container(pod.name(), [each["name"].text() for each, _ in asking])
    for each, where in asking:
        if why or (each["name"].text() != main and not _serves(each)):
            yield _finding(where, why or f"{main!r} is what trains")
    if not why:
        yield from _of_init(pod, [each for each, _ in asking])


def _why(pod: Pod, context: Context[Parameters]) -> str:
    """Why the whole pod only helps; empty where it does not."""
    if pod.step in pods.INITIALIZERS:
        return "an initializer downloads"
    policy = context.subject.ml_policy["mpi"]
    is_launcher = pod.name() == names.LAUNCHER and policy.is_there()
    only_starts = is_launcher and not policy["runLauncherAsNode"].flag()
    return "this job only starts the others" if only_starts else ""


def _of_init(pod: Pod, asking: Iterable[Value]) -> Iterator[Finding]:
    most = sum((each.count for each in map(amounts.gpus_of, asking) if each), Decimal(0))
    for each in pod.spec["initContainers"].items():
        where, found = _devices(each), amounts.gpus_of(each)
        stays = each["restartPolicy"].text() == "Always"
        is_more = stays or (found is not None and found.count > most)
        if where is not None and is_more and not _serves(each):
            yield _finding(where, "a sidecar only helps" if stays else "the pod has fewer later")


def _finding(where: Value, why: str) -> Finding:
    what = f"asks for accelerators, and does not compute: {why}"
    return where.finding(what, where.raw, "take it away")


def _devices(container: Value) -> Value | None:
    """Where a container asks for accelerators, or claims devices; None where it does not."""
    limits, requests, claims = (
        container.at("resources", each) for each in ("limits", "requests", "claims")
    )
    if not any([limits.is_there(), requests.is_there(), claims.is_there()]):
        return None
    found = amounts.gpus_of(container)
    if found is not None:
        return found.place
    return claims if next(claims.items(), None) is not None else None


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
    places=amounts.pods_with_devices,
    check=_check,
)
