"""Which declared pools a pod may run on, and what accelerators it gets there.

A pool need not name every label of its machines: a label that no pool names says nothing. What a
node affinity excludes is not looked at, so there may be fewer pools than are found here.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from trainer_infra import names
from trainer_infra.catalog import accelerators as known
from trainer_infra.rules.capacity import requests
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.value import Value

_REPELS: Final = ("NoSchedule", "NoExecute")


def selected(pod: Pod, pools: Iterable[Pool]) -> tuple[tuple[Pool, ...], Value | None]:
    """The pools that a pod's nodeSelector allows; where there are none, the label that is too much.

    Raises:
        Unseen: A label is not known.
    """
    found = tuple(pools)
    named = {key for each in found for key in each.labels}
    for key, value in pod.spec["nodeSelector"].fields():
        text = value.text()
        kept = tuple(each for each in found if key not in named or each.labels.get(key) == text)
        if found and not kept:
            return (), value
        found = kept
    return found, None


def allowed(pod: Pod, pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """The pools that a pod's nodeSelector and tolerations allow.

    Raises:
        Unseen: Part of them is not known.
    """
    found, _ = selected(pod, pools)
    return tuple(each for each in found if all(_tolerates(pod, taint) for taint in each.taints))


def amount(pool: Pool, resource: str) -> Decimal:
    """What one machine of a pool has of a resource; 0 where that cannot be read."""
    return requests.read(pool.capacity.get(resource, 0)) or Decimal(0)


def accelerators(pod: Pod, pools: Iterable[Pool]) -> tuple[str, ...]:
    """What a pod's accelerators may be called; none where that is not known.

    The pools that it may run on say it where all do; else a label of its nodeSelector.

    Raises:
        Unseen: Part of what says it is not known.
    """
    asked = [
        name for name, each in requests.of(pod).items() if each and requests.is_accelerator(name)
    ]
    found = [each for each in allowed(pod, pools) if any(amount(each, name) for name in asked)]
    named = [each.accelerator for each in found if each.accelerator is not None]
    if named and len(named) == len(found):
        return tuple(dict.fromkeys(known.called(each) for each in named))
    return tuple(_labelled(pod))


def _labelled(pod: Pod) -> Iterator[str]:
    for key in names.ACCELERATOR_LABELS:
        text = pod.spec.at("nodeSelector", key).text()
        if text:
            yield known.called(text)
            return


def _tolerates(pod: Pod, taint: Taint) -> bool:
    repels = taint.effect in _REPELS
    return not repels or any(_covers(each, taint) for each in pod.spec["tolerations"].items())


def _covers(toleration: Value, taint: Taint) -> bool:
    key, effect = toleration["key"].text(), toleration["effect"].text()
    if effect not in ("", taint.effect):
        return False
    if toleration["operator"].text() == "Exists":
        return key in ("", taint.key)
    return key == taint.key and toleration["value"].text() == taint.value
