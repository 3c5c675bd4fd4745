"""The fields of the v1 kinds, by which unknown ones are refused.

Facts: the CRDs of the training operator v1.9 (PyTorchJob, XGBoostJob, JAXJob, MPIJob of
kubeflow.org/v1) and of the MPI operator v0.6 (MPIJob of kubeflow.org/v2beta1). A pod template has
the fields that the published schema of a JobSet gives it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.shape import schema
from trainer_infra.api.shape.object_meta import OBJECT_META
from trainer_infra.api.shape.walk import Schema, Walk
from trainer_infra.migrate.migration import MISPLACED

V1: Final = "kubeflow.org/v1"
V2_BETA_1: Final = "kubeflow.org/v2beta1"

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "format": "int32", "minimum": 0}
_FLAG: Final = {"type": "boolean"}
_KEPT: Final = {"x-kubernetes-preserve-unknown-fields": True}
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _enum(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _object(**fields: Schema) -> Schema:
    return {"type": "object", "properties": fields}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_CLEAN: Final = _enum("", "All", "Running", "None")
_SCHEDULING: Final = _object(
    minAvailable=_COUNT,
    queue=_TEXT,
    minResources=_ANYTHING,
    priorityClass=_TEXT,
    scheduleTimeoutSeconds=_COUNT,
)
_RUN_POLICY: Final = _object(
    cleanPodPolicy=_CLEAN,
    ttlSecondsAfterFinished=_COUNT,
    activeDeadlineSeconds={"type": "integer", "format": "int64", "minimum": 1},
    backoffLimit=_COUNT,
    schedulingPolicy=_SCHEDULING,
    suspend=_FLAG,
    managedBy=_TEXT,
)
DROPPED_META: Final = ("clusterName", "initializers")
"""Fields of metadata that Kubernetes no longer has."""
_ELASTIC: Final = _object(
    minReplicas=_COUNT,
    maxReplicas=_COUNT,
    rdzvBackend=_TEXT,
    rdzvPort=_COUNT,
    rdzvHost=_TEXT,
    rdzvId=_TEXT,
    rdzvConf=_list(_object(key=_TEXT, value=_TEXT)),
    standalone=_FLAG,
    nProcPerNode=_COUNT,
    maxRestarts=_COUNT,
    metrics=_list(_ANYTHING),
)


def field_findings(value: Mapping[str, Any], api_version: str, kind: str) -> list[FieldFinding]:
    """What is wrong with a v1 job without fields that are null, by those of its kind, one of `known_kinds`."""
    walk = Walk(schema.published_schema()[1])
    known = {**OBJECT_META["properties"], **dict.fromkeys(DROPPED_META, _KEPT)}
    metadata = {**OBJECT_META, "properties": known}
    head = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata, "status": _ANYTHING}
    spec = _specs()[api_version, kind]
    whole = _object(**head, spec=spec) | {"required": ["metadata", "spec"]}
    walk.check(value, whole, ())
    return walk.found


def known_kinds() -> tuple[tuple[str, str], ...]:
    """What is migrated: apiVersion and kind of each."""
    return tuple(_specs())


@cache
def _specs() -> dict[tuple[str, str], Schema]:
    mpi = _replicas("mpiReplicaSpecs", "Launcher", "Worker") | {"slotsPerWorker": _COUNT}
    specs = {
        (V1, "PyTorchJob"): _replicas("pytorchReplicaSpecs", "Master", "Worker")
        | {"elasticPolicy": _ELASTIC, "nprocPerNode": _TEXT},
        (V1, "XGBoostJob"): _replicas("xgbReplicaSpecs", "Master", "Worker"),
        (V1, "JAXJob"): _replicas("jaxReplicaSpecs", "Worker"),
        (V1, "MPIJob"): mpi | {"mainContainer": _TEXT},
        (V2_BETA_1, "MPIJob"): mpi
        | {
            "runLauncherAsWorker": _FLAG,
            "sshAuthMountPath": _TEXT,
            "launcherCreationPolicy": _enum("AtStartup", "WaitForWorkersReady"),
            "mpiImplementation": _enum("OpenMPI", "Intel", "MPICH"),
        },
    }
    shared = {key: _RUN_POLICY["properties"][key] for key in (*MISPLACED, "cleanPodPolicy")}
    return {
        key: _object(**fields, **shared, runPolicy=_RUN_POLICY) for key, fields in specs.items()
    }


def _replicas(field: str, *types: str) -> dict[str, Schema]:
    # The pod template of a JobSet's published schema.
    kinds, shared = schema.published_schema()
    found = kinds["JobSetSpec"]
    for name in ("replicatedJobs", "items", "template", "spec", "template"):
        found = shared[found["$ref"]] if "$ref" in found else found
        found = found["items"] if name == "items" else found["properties"][name]
    replica = _object(
        replicas=_COUNT,
        restartPolicy=_enum("Always", "OnFailure", "Never", "ExitCode"),
        template=found,
    )
    return {field: _object(**dict.fromkeys(types, replica))}
