"""Resources of a node: the resourcesPerNode merge, counts of processors and accelerators, and requests of a pod.

Rules: reference behaviour 2.2, 2.3 and 2.4.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.api.quantity import Quantity
from trainer_infra.catalog import device_resources
from trainer_infra.catalog.device_resources import DeviceUse
from trainer_infra.json_values import JSONObject
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft

Amounts = dict[str, Quantity]
"""Quantities by resource name."""
_OF_PODS: Final = ("cpu", "memory")
"""Resources that a pod may ask for as a whole, besides huge pages of every size."""
_WRITE: Final = "write spec.trainer.numProcPerNode (num_proc_per_node)"


def merged_resources(base: JSONObject | None, override: JSONObject) -> JSONObject:
    """Limits and requests per key, the override wins.

    Claims of both are dropped as the reference does: Kueue counts the same way (Q3).
    """
    base = base or {}
    return {
        part: {**(base.get(part) or {}), **(override.get(part) or {})}
        for part in ("limits", "requests")
        if base.get(part) or override.get(part)
    }


def of_node(draft: Draft) -> JSONObject:
    """The resources of one training node, as the pod will have them.

    The reference counts from resourcesPerNode alone when that is set, though the pod gets the
    merge (Q2).
    """
    if draft.trainer_spec.resources_per_node is not None and not draft.ours(Deviation.Q2):
        return draft.trainer_spec.resources_per_node
    for pod_set in draft.pod_sets:
        if pod_set.name == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.container(names.NODE)
            if container:
                return container.resources or {}
    return {}


def accelerators(draft: Draft, uses: Sequence[DeviceUse] = device_resources.WHOLE) -> int:
    """Accelerators of one training node, each of which gets a process."""
    node = of_node(draft)
    return devices(node, uses) if draft.ours(Deviation.Q6) else gpus(node)


def devices(resources: JSONObject, uses: Sequence[DeviceUse] = device_resources.WHOLE) -> int:
    """Whole devices, and slices that count as one; 1 where only a share of one is asked for."""
    whole = sum(device_resources.device_amounts(resources, *uses).values())
    return whole or (1 if device_resources.device_amounts(resources, DeviceUse.SHARE) else 0)


def uncounted_sentences(draft: Draft) -> Iterator[str]:
    """Why the processes of a node may not be those that its accelerators can have."""
    policy = draft.ml_policy
    if draft.trainer_spec.num_proc_per_node is not None or not (policy.torch or policy.mpi):
        return
    node = of_node(draft)
    unknown = device_resources.device_amounts(node, DeviceUse.UNKNOWN)
    if unknown and not devices(node):
        yield (
            f"a node asks for {' and '.join(unknown)}, and whether that is an accelerator is not known, so its "
            f"processes are not counted by it; {_WRITE}"
        )
    if device_resources.NEURON in device_resources.device_amounts(node, DeviceUse.DEVICE):
        yield (
            f"a node gets one process for each {device_resources.NEURON}, which has several cores; "
            f"for one on each core {_WRITE}"
        )


def gpus(resources: JSONObject) -> int:
    """Accelerators asked for, rounded up: the first resource whose name contains `gpu`, if not zero.

    Requests are looked at before limits. Of several such resources the reference takes any.
    """
    for part in ("requests", "limits"):
        for name, amount in (resources.get(part) or {}).items():
            if "gpu" in name.lower() and quantity.quantity_value(amount):
                return quantity.quantity_value(amount)
    return 0


def cpus(resources: JSONObject) -> int:
    """Processors asked for, rounded up: requests where not zero, else limits, else 0."""
    for part in ("requests", "limits"):
        amount = quantity.quantity_value((resources.get(part) or {}).get("cpu", 0))
        if amount:
            return amount
    return 0


def requests_of_pod(pod: JSONObject, *, defaulted: bool = False) -> Amounts:
    """The requests of one pod, of a PodSpec: Kubernetes' sum over its containers.

    Rule: k8s.io/component-helpers `resource.PodRequests` without options, on the pod as it is
    written, as the reference calls it (SinglePodRequests). Regular containers and sidecars add up;
    an init container counts together with the sidecars before it where that is more; requests of
    the pod itself replace the sum; overhead comes on top. With `defaulted` a limit counts as the
    request that is not written, as the API server has it once the pod exists.
    """
    total: Amounts = {}
    for container in pod.get("containers") or ():
        add_amounts(total, _requests(container, defaulted=defaulted))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.get("initContainers") or ():
        own = _requests(container, defaulted=defaulted)
        if container.get("restartPolicy") == "Always":
            add_amounts(total, own)
            add_amounts(sidecars, own)
            _raise(peak, sidecars)
        else:
            add_amounts(own, sidecars)
            _raise(peak, own)
    _raise(total, peak)
    for name, each in _requests(pod, defaulted=defaulted).items():
        if name in _OF_PODS or name.startswith("hugepages-"):
            total[name] = each
    add_amounts(total, _amounts(pod.get("overhead")))
    return total


def _requests(holder: JSONObject, *, defaulted: bool) -> Amounts:
    resources = holder.get("resources") or {}
    requests = _amounts(resources.get("requests"))
    return {**_amounts(resources.get("limits")), **requests} if defaulted else requests


def _amounts(written: JSONObject | None) -> Amounts:
    return {name: quantity.read_quantity(each) for name, each in (written or {}).items()}


def add_amounts(total: Amounts, more: Amounts) -> None:
    """Adds amounts to the total."""
    for name, each in more.items():
        total[name] = total[name] + each if name in total else each


def _raise(total: Amounts, other: Amounts) -> None:
    for name, each in other.items():
        if name not in total or each.nanos > total[name].nanos:
            total[name] = each
