"""namespace-exists: the namespace that an object is in exists.

Something is said to be nowhere only as `lookup` says: in a whole world, or in a tree that defines
some namespaces. Those may well be kept in several trees, so this alone fails no check of the pack
`training`. Four are in every cluster.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole

_OF_EVERY_CLUSTER: Final = (
    *(names.DEFAULT_NAMESPACE, "kube-system", "kube-public", "kube-node-lease"),
)


def _check(place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    namespace = place.at("metadata", "namespace")
    name = namespace.text()
    if not name or name in _OF_EVERY_CLUSTER:
        return
    fix = lookup.fix_of_missing(context.world, names.NAMESPACE, name)
    if fix is not None:
        yield namespace.finding("is a namespace that does not exist", name, fix)


RULE: Final = Rule(
    id="namespace-exists",
    title="Namespaces of jobs and queues exist",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.TRAINING_RUNTIME, names.JOBSET, names.LOCAL_QUEUE)),
    tags=("scheduling",),
    why="The API server refuses the object.",
    fix="Correct the name, or add the Namespace.",
    places=whole,
    check=_check,
    looks_around=True,
)
