"""helper-gpus: accelerators are for containers that compute.

Helpers are initializers, MPI's launcher that only starts the others, init containers, and containers
beside the one that trains. An init container that asks for no more than the pod has later anyway costs
nothing, and some test the GPUs so. A container beside training that serves a model computes.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import Final

from trainer_infra import names
from trainer_infra.render import resolve
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT

_SERVES: Final = re.compile(
    r"vllm|sglang|tgi|triton|infer|serv|rollout|sampler|reward|teacher|critic|generat|eval|judge",
    re.IGNORECASE,
)
"""What names, images and commands of containers have in them that run a model beside the training."""


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    containers, before = (pod.spec[each] for each in ("containers", "initContainers"))
    why, listed = _why(pod, context.subject), tuple(lookup.items(containers))
    if why:
        for each in listed:
            yield from _of(each, why)
    elif len(listed) > 1 or before.raw is not ABSENT:
        yield from _beside(pod, [each for each in listed if _devices(each) is not None])


def _beside(pod: Pod, asking: Sequence[Value]) -> Iterator[Finding]:
    """Containers beside the one that trains, and before it."""
    main = resolve.main_container(pod.name(), [each["name"].text() for each in asking])
    claims = (each.at("resources", "claims") for each in asking if each["name"].text() == main)
    shared = {each["name"].text() for one in claims for each in one.items()}
    for each in asking:
        if each["name"].text() != main and not _serves(each):
            yield from _of(each, f"{main!r} is what trains", shared)
    most = sum((each.count for each in map(amounts.gpus_of, asking) if each), Decimal(0))
    for each in pod.spec["initContainers"].items():
        found, stays = amounts.gpus_of(each), each["restartPolicy"].text() == "Always"
        if (stays or (found is not None and found.count > most)) and not _serves(each):
            why = "a sidecar only helps" if stays else "the pod has fewer later"
            yield from _of(each, why, shared)


def _why(pod: Pod, subject: Subject) -> str:
    """Why the whole pod only helps; empty where it does not."""
    if pod.step in pods.INITIALIZERS:
        return "an initializer downloads"
    spec, policy = subject.object["spec"], subject.ml_policy["mpi"]
    if pod.job.path[-2:] == ("mpiReplicaSpecs", "Launcher"):
        started, joins = spec.at("mpiReplicaSpecs", "Worker"), spec["runLauncherAsWorker"]
    elif pod.name() == names.LAUNCHER:
        started, joins = policy, policy["runLauncherAsNode"]
    else:
        return ""
    return "this job only starts the others" if started.is_there() and not joins.flag() else ""


def _of(container: Value, why: str, shared: Collection[str] = ()) -> Iterator[Finding]:
    where = _devices(container, shared)
    if where is not None:
        what = f"asks for accelerators, and does not compute: {why}"
        yield where.finding(what, where.raw, "take it away")


def _devices(container: Value, shared: Collection[str] = ()) -> Value | None:
    """Where a container asks for accelerators, or claims devices that are not shared with it; None where it does not."""
    limits, requests, claims = (
        container.at("resources", each) for each in ("limits", "requests", "claims")
    )
    if not any([limits.is_there(), requests.is_there(), claims.is_there()]):
        return None
    found = amounts.gpus_of(container)
    if found is not None:
        return found.place
    return claims if any(each["name"].text() not in shared for each in claims.items()) else None


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
