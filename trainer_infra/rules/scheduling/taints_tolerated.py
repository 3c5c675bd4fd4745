"""taints-tolerated: pods tolerate the taints of some machines that they can run on.

Judged against declared pools, and against the flavors of the queue that a job waits in: Kueue
compares a flavor's nodeTaints with the tolerations of the pod and of the flavor itself, and gives
the latter to the pods that it admits.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import (
    amounts,
    machines,
    patches,
    queue_objects,
    selectors,
    taints,
)
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Taint
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    found = {**_of_flavors(place, context), **_of_pools(place, context)}
    if found:
        where = patches.place(place.spec["tolerations"], context.subject)
        those = ", ".join(f"{name} has {_text(each)}" for name, each in found.items())
        what = f"lack a toleration without which no machine that fits takes the pods: {those}"
        yield where.finding(what, fix=f"add {_toleration(next(iter(found.values())))}")


def _of_pools(pod: Pod, context: Context[Parameters]) -> Mapping[str, Taint]:
    """The taint of each pool that fits; nothing where one with the accelerators lets the pod in."""
    every = context.world.pools
    selected = selectors.selected_pools(pod, every)
    asked = amounts.amounts_of(pod, context.subject) if selected else {}
    fitting = [each for each in selected if not machines.lacking_resources(each, asked, every)]
    tolerated = machines.tolerations(pod, context.subject, context.world) if fitting else None
    if tolerated is None:
        return {}
    near = machines.with_accelerators(selected, asked)
    if any(taints.keeps_away(each, asked, tolerated) is None for each in near):
        return {}
    return _if_all(
        {f"pool {each.name}": taints.keeps_away(each, asked, tolerated) for each in fitting}
    )


def _of_flavors(pod: Pod, context: Context[Parameters]) -> Mapping[str, Taint]:
    """The same of the flavors of each resource group that the pod has part in."""
    patches.be_known(context.subject)
    queue = queue_objects.cluster_queue(context.subject, context.world)
    if queue is None:
        return {}
    result: dict[str, Taint] = {}
    asked = {*amounts.amounts_of(pod, context.subject), "pods"}
    for group in queue_objects.groups(queue, context.world):
        if asked.isdisjoint(group.covered):
            continue
        fitting = [each for each in group.flavors if each.selected(pod)]
        result |= _if_all({f"flavor {each.name}": each.keeps_away(pod) for each in fitting})
    return result


def _if_all(found: Mapping[str, Taint | None]) -> Mapping[str, Taint]:
    known = {name: each for name, each in found.items() if each is not None}
    return known if len(known) == len(found) else {}


def _text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _toleration(taint: Taint) -> str:
    how = f"value: {taint.value}" if taint.value else "operator: Exists"
    return f"the toleration {{key: {taint.key}, {how}, effect: {taint.effect}}}"


RULE: Final = Rule(
    id="taints-tolerated",
    title="Pods tolerate the taints of machines that fit them",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "gpu", "kueue"),
    why="Machines with a taint that a pod does not tolerate do not take it: it stays pending.",
    fix="Add the toleration to the pods, for a TrainJob in the runtime or in spec.runtimePatches.",
    places=pods.pods_of,
    check=_check,
    looks_around=True,
)
