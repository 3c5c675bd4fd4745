"""Where objects of other projects write their pods: what rules of pod security and supply chain judge besides."""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.rules.value import ABSENT, Value, is_list

_EACH: Final = "*"
"""Stands for every item of a list, and for every field of a mapping."""
_ONE: Final[Path] = ("spec", "template")
_REPLICA_SPECS: Final[Mapping[str, str]] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
}
"""Jobs of Kubeflow's v1 operator and of its MPI operator."""
_RAY: Final[tuple[Path, ...]] = (
    ("headGroupSpec", "template"),
    ("workerGroupSpecs", _EACH, "template"),
)
_TEMPLATES: Final[Mapping[str, tuple[Path, ...]]] = {
    "Pod": ((),),
    "PodTemplate": (("template",),),
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet"), (_ONE,)),
    **dict.fromkeys(("ReplicaSet", "ReplicationController"), (_ONE,)),
    # Volcano has a Job, too.
    "Job": (_ONE, ("spec", "tasks", _EACH, "template")),
    "CronJob": (("spec", "jobTemplate", "spec", "template"),),
    **{kind: (("spec", key, _EACH, "template"),) for kind, key in _REPLICA_SPECS.items()},
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
    "RayCluster": tuple(("spec", *each) for each in _RAY),
    "RayJob": tuple(("spec", "rayClusterSpec", *each) for each in _RAY),
    "RayService": tuple(("spec", "rayClusterConfig", *each) for each in _RAY),
}
"""By kind, the paths of pod templates."""

WORKLOADS: Final = names.WITH_PODS | {*_TEMPLATES}
"""Every kind whose pods are judged."""


def pod_templates(value: Value) -> Iterator[Value]:
    """The pod templates of an object of another project; none of other kinds."""
    for path in _TEMPLATES.get(str(value["kind"].raw), ()):
        yield from (each for each in _below(value, path) if each["spec"].raw is not ABSENT)


def _below(value: Value, path: Path) -> Iterator[Value]:
    if not path:
        yield value
    elif path[0] == _EACH:
        named = (each for _, each in value.fields())
        for each in value.items() if is_list(value.raw) else named:
            yield from _below(each, path[1:])
    else:
        yield from _below(value[path[0]], path[1:])
