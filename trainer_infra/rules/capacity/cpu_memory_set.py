"""cpu-memory-set: the containers that train say how much cpu and memory they need."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_RESOURCES: Final = ("cpu", "memory")
_PARTS: Final = ("requests", "limits")


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    written = nodes.resources(place, context.subject)
    holders = (place.value, place.pod.spec)
    missing = [each for each in _RESOURCES if not any(_is_set(one, each) for one in holders)]
    fix = f"write how much {' and '.join(missing)} a node needs"
    if len(missing) == 1:
        yield written.at("limits", *missing).finding("is not set", None, fix)
    elif missing:
        yield written["limits"].finding(f"sets neither {' nor '.join(missing)}", None, fix)


def _is_set(holder: Value, resource: str) -> bool:
    """Whether a container, or the pod as a whole, has a request or a limit."""
    return any(holder.at("resources", part, resource).is_there() for part in _PARTS)


RULE: Final = Rule(
    id="cpu-memory-set",
    title="Containers that train say how much cpu and memory they need",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("capacity", "resources"),
    why=(
        "A node is placed where it does not fit: it is slowed down, or ended for want of memory, "
        "and everything beside it too. Queues and quotas do not count it."
    ),
    fix="Write `cpu` and `memory` in `spec.trainer.resourcesPerNode.limits`.",
    places=nodes.training_containers,
    check=_check,
)
