"""Which taints keep a pod away (Kubernetes' plugin TaintToleration)."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.value import Value

_HARD: Final = ("NoSchedule", "NoExecute")
_GKE: Final = "cloud.google.com/gke-"


def tolerations(spec: Value) -> tuple[Value, ...]:
    """The tolerations of a pod or a flavor.

    Raises:
        UnseenValue: They are not known.
    """
    return tuple(lookup.items(spec["tolerations"]))


def untolerated_taint(taints: Iterable[Taint], tolerations: Sequence[Value]) -> Taint | None:
    """The first taint that keeps a pod away."""
    hard = (each for each in taints if each.effect in _HARD)
    return next((each for each in hard if not _is_tolerated(each, tolerations)), None)


def keeps_away(pool: Pool, asked: Collection[str], tolerations: Sequence[Value]) -> Taint | None:
    """The taint of a pool that keeps a pod away.

    GKE adds tolerations for the extended resources that a pod asks for (the admission plugin
    ExtendedResourceToleration); the labels that all its machines have say what it is.
    """
    on_gke = any(each.startswith(_GKE) for each in pool.labels)
    taints = (each for each in pool.taints if not (on_gke and each.key in asked))
    return untolerated_taint(taints, tolerations)


def _is_tolerated(taint: Taint, tolerations: Sequence[Value]) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Value, taint: Taint) -> bool:
    key, effect = toleration["key"].text(), toleration["effect"].text()
    exists = toleration["operator"].text() == "Exists"
    if effect not in ("", taint.effect) or key not in ("", taint.key):
        return False
    if exists or not key:
        return exists
    equal = toleration["operator"].text() in ("", "Equal")
    return not equal or toleration["value"].text() == taint.value
