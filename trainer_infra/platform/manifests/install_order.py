"""The order in which objects are installed; `destroy` goes the other way.

A webhook comes after the controller that answers it, or it would refuse what follows; an object of
another kind comes after the definition of its kind and the webhooks that judge it. A Job that helm runs
before an installation ends before what it prepares begins, one that helm runs afterwards begins last.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject

_HOOK: Final = "helm.sh/hook"
_JOB: Final = "Job"
_JOB_BEFORE: Final = "Job that prepares"

STAGES: Final = (
    ("Namespace",),
    ("CustomResourceDefinition", "PriorityClass"),
    (
        "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap",
        "Secret", "ResourceQuota", "LimitRange", "NetworkPolicy", "PodDisruptionBudget",
        "PersistentVolumeClaim", "Lease",
    ),
    (_JOB_BEFORE,),
    # A Service waits for pods, so it stands beside what makes them.
    ("Service", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"),
    ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService",
     "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)  # fmt: skip
"""Kinds by stage; every other kind comes last."""
_STAGE: Final = {kind: number for number, kinds in enumerate(STAGES) for kind in kinds}


def install_stages(objects: Iterable[JSONObject]) -> Sequence[Sequence[JSONObject]]:
    """The objects by stage, each in the order in which they came; no stage is empty."""
    stages: dict[int, list[JSONObject]] = {}
    for each in objects:
        stages.setdefault(_stage_of(each), []).append(each)
    return [stages[number] for number in sorted(stages)]


def hooks_of(value: JSONObject) -> frozenset[str]:
    """When helm makes an object, where that is not with the others: `pre-install`, for example."""
    annotations = value["metadata"].get("annotations") or {}
    return frozenset(each.strip() for each in annotations.get(_HOOK, "").split(",")) - {""}


def _stage_of(value: JSONObject) -> int:
    kind, hooks = value["kind"], hooks_of(value)
    if kind == _JOB and hooks & {"post-install", "post-upgrade"}:
        return len(STAGES) + 1
    if kind == _JOB and hooks & {"pre-install", "pre-upgrade"}:
        return _STAGE[_JOB_BEFORE]
    return _STAGE.get(kind, len(STAGES))
