"""What one pod of a replicated job asks of a node: Kubernetes' sum over its containers.

Pure. Rule: k8s.io/component-helpers `resource.PodRequests` without options, on the pod as it is
written, as the reference calls it (reference behaviour 2.2, SinglePodRequests).
"""

from typing import Final

from trainer_infra.api import quantity
from trainer_infra.api.quantity import Quantity
from trainer_infra.json_values import JSONObject

Amounts = dict[str, Quantity]
"""Quantities by resource name."""

_OF_PODS: Final = ("cpu", "memory")
"""Resources that a pod may ask for as a whole, besides huge pages of every size."""


def requests_of_pod(pod: JSONObject, *, defaulted: bool = False) -> Amounts:
    """The requests of one pod.

    Regular containers and sidecars add up; an init container counts together with the sidecars
    before it where that is more; requests of the pod itself replace the sum; overhead comes on top.

    Args:
        pod: a PodSpec.
        defaulted: a limit counts as the request that is not written, as the API server has it once
            the pod exists. The reference sums what is written.
    """
    total: Amounts = {}
    for container in pod.get("containers") or ():
        _add(total, _requests(container, defaulted=defaulted))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.get("initContainers") or ():
        own = _requests(container, defaulted=defaulted)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise(peak, sidecars)
        else:
            _add(own, sidecars)
            _raise(peak, own)
    _raise(total, peak)
    for name, each in _requests(pod, defaulted=defaulted).items():
        if name in _OF_PODS or name.startswith("hugepages-"):
            total[name] = each
    _add(total, _amounts(pod.get("overhead")))
    return total


def _requests(holder: JSONObject, *, defaulted: bool) -> Amounts:
    resources = holder.get("resources") or {}
    requests = _amounts(resources.get("requests"))
    return {**_amounts(resources.get("limits")), **requests} if defaulted else requests


def _amounts(written: JSONObject | None) -> Amounts:
    return {name: quantity.read_quantity(each) for name, each in (written or {}).items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, each in more.items():
        total[name] = total[name] + each if name in total else each


def _raise(total: Amounts, other: Amounts) -> None:
    for name, each in other.items():
        if name not in total or each.nanos > total[name].nanos:
            total[name] = each
