"""The order in which objects are installed; `destroy` goes the other way.

A webhook comes after the controller that answers it, or it would refuse what follows; an object of
another kind comes after the definition of its kind and the webhooks that judge it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject

STAGES: Final = (
    ("Namespace",),
    ("CustomResourceDefinition", "PriorityClass"),
    (
        "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap",
        "Secret", "ResourceQuota", "LimitRange", "NetworkPolicy", "PodDisruptionBudget",
        "PersistentVolumeClaim",
    ),
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
        stages.setdefault(_STAGE.get(each["kind"], len(STAGES)), []).append(each)
    return [stages[number] for number in sorted(stages)]
