"""Resources of a node: the resourcesPerNode merge, and counts of processors and accelerators.

Called by `resolve` and by plugins that derive process counts. Rules:
reference behaviour 2.3 and 2.4.
"""

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.json_values import JSONObject
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft


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
    trainer = draft.job.spec.trainer
    if trainer and trainer.resources_per_node is not None and not draft.ours(Deviation.Q2):
        return trainer.resources_per_node
    for pod_set in draft.pod_sets:
        if pod_set.name == names.NODE or pod_set.ancestor == names.TRAINER:
            container = pod_set.container(names.NODE)
            if container:
                return container.resources or {}
    return {}


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
