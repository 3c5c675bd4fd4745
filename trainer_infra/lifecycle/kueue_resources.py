"""spec.trainer.resourcesPerNode of a TrainJob that Kueue queues, beside resources of its runtime.

Kueue 0.19 is built with Kubeflow Trainer 2.2, where resourcesPerNode replaces the runtime's
resources; since 2.3 it is merged with them, and so it is here. What only the runtime sets is in the
pods, and Kueue does not count it.
"""

from collections.abc import Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import resolve


def uncounted_resources(job: TrainJob, runtime: Runtime) -> tuple[str, ...]:
    """Names of the resources that pods of the trainer have and Kueue does not count."""
    queue = (job.metadata.labels or {}).get(names.KUEUE_QUEUE_LABEL)
    own = job.spec.trainer.resources_per_node if job.spec.trainer else None
    template = runtime.spec.template
    if not queue or not own or runtime.spec.ml_policy is None or template is None:
        return ()
    counted = _names(own)
    containers = resolve.trainer_containers(template.spec or {})
    found = (_names(each.get("resources") or {}) for _, each in containers)
    return tuple(sorted({name for each in found for name in each} - counted))


def _names(resources: Mapping[str, Any]) -> set[str]:
    return {name for part in ("requests", "limits") for name in resources.get(part) or {}}
