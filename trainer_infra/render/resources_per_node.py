"""spec.trainer.resourcesPerNode: merged with the runtime's, it must be what a pod may ask for.

The reference admits any, and the pods are then refused for ever. Rule: Kubernetes' validation of
ResourceRequirements; the merge: reference behaviour 2.3.
"""

from collections.abc import Iterable

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft


def resource_problems(draft: Draft) -> Iterable[Problem]:
    """Requests above their limit, and devices whose request is not their limit."""
    trainer = draft.job.spec.trainer
    if trainer is None or not trainer.resources_per_node or draft.runtime.spec.ml_policy is None:
        return
    if not draft.ours(Deviation.RESOURCES):
        return
    nodes = (
        each.container(names.NODE)
        for each in draft.pod_sets
        if each.name == names.NODE or each.ancestor == names.TRAINER
    )
    # Launcher and node may be wrong alike.
    yield from dict.fromkeys(
        problem for each in nodes if each for problem in _of_container(each.resources or {})
    )


def _of_container(resources: JSONObject) -> Iterable[Problem]:
    requests = resources.get("requests") or {}
    for name, limit in (resources.get("limits") or {}).items():
        request = requests.get(name, limit)
        wanted, most = quantity.parse_quantity(request), quantity.parse_quantity(limit)
        # Kubernetes' own resources have no domain; a device cannot be shared out.
        if wanted > most or ("/" in name and wanted != most):
            yield Problem(
                f"spec.trainer.resourcesPerNode.requests[{name}]",
                "must not be above its limit, and for a device equal to it, once both are merged "
                "with the runtime's",
                got=f"request {request}, limit {limit}",
                fix=f"set both for {name}",
            )
