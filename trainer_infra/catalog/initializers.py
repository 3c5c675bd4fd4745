"""Initializers of a runtime: the jobs that fetch a dataset and a model onto a volume before training begins.

`with_initializers` adds ours to any runtime; `torchtune` builds those of the reference from the
same parts. Facts: reference behaviour 7.1 and 8.1.
"""

from collections.abc import Collection
from typing import Any, Final, TypeVar

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.catalog import one_job, shipped_runtime
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject

AnyRuntime = TypeVar("AnyRuntime", TrainingRuntime, ClusterTrainingRuntime)

WORKSPACE: Final = "/workspace"
IMAGE: Final = names.INITIALIZER_IMAGE
STORAGE: Final = "20Gi"
ACCESS: Final = "ReadWriteOnce"
OPTIONAL: Final = "--optional"
"""An argument that ours knows alone: nothing is to be done where no URI is given."""
ROLES: Final = {names.DATASET_INITIALIZER: "dataset", names.MODEL_INITIALIZER: "model"}
"""Names of the jobs and their containers -> what the image is told to fetch, a field of spec.initializer."""


def has_our_program(image: str, args: Collection[str]) -> bool:
    """Whether a container of an initializer runs ours, so far as its image and arguments say."""
    return image == IMAGE or OPTIONAL in args


def storage_uri(job: JSONObject, field: str) -> str:
    """What a TrainJob in wire form names to be fetched as its `dataset` or its `model`; empty for nothing."""
    given = (job["spec"].get("initializer") or {}).get(field) or {}
    return str(given.get("storageUri") or "")


def initializer_job(name: str, image: str, **container: Any) -> JSONDict:
    """The job of one initializer: a container of that image, with these further fields."""
    whole = {"name": name, "image": image, **container, "volumeMounts": [workspace_mount()]}
    return shipped_runtime.replicated_job(name, whole, name)


def workspace_mount() -> JSONDict:
    """Where every container of the run finds the shared volume."""
    return {"name": names.INITIALIZER_VOLUME, "mountPath": WORKSPACE}


def workspace_claim(storage: str, access: str) -> JSONDict:
    """The volume claim that initializers and nodes share."""
    resources = {"requests": {"storage": storage}}
    return {
        "metadata": {"name": names.INITIALIZER_VOLUME},
        "spec": {"accessModes": [access], "resources": resources},
    }


def with_initializers(
    runtime: AnyRuntime, *, storage: str = STORAGE, access: str = ACCESS, image: str = IMAGE
) -> AnyRuntime:
    """A runtime that first fetches what `initializer=` of a TrainJob names, onto a volume at `/workspace`.

    A TrainJob may give a dataset, a model, both or none.

    Args:
        runtime: of the catalog or your own; not changed.
        storage: size of the volume: the dataset, the model, and what a training writes beside them.
        access: access mode of the volume; `ReadWriteMany` where nodes of several machines train.
        image: of the initializers; its program takes `dataset` or `model`, and `--optional`.

    Raises:
        InvalidInput: The runtime has an initializer.
    """
    jobs = [initializer_job(name, image, args=[role, OPTIONAL]) for name, role in ROLES.items()]
    claim = {"templates": [workspace_claim(storage, access)]}
    return type(runtime).from_wire(_with_jobs(runtime.to_wire(), jobs, claim))


def _with_jobs(wire: JSONDict, jobs: list[JSONDict], claim: JSONDict) -> JSONDict:
    spec = wire["spec"]["template"]["spec"]
    path, what = "spec.template.spec.replicatedJobs", "has an initializer already"
    if problems := [
        Problem(f"{path}[{index}]", what, got=job["name"], fix="use the runtime as it is")
        for index, job in enumerate(spec["replicatedJobs"])
        if job["name"] in ROLES
    ]:
        raise InvalidInput(problems)
    policies = [*(spec.get("volumeClaimPolicies") or ()), claim]
    replicated = [*jobs, *map(_after_initializers, spec["replicatedJobs"])]
    own = {"volumeClaimPolicies": policies, "replicatedJobs": replicated}
    wire["spec"]["template"]["spec"] = {**spec, **own}
    return wire


def _after_initializers(job: JSONDict) -> JSONDict:
    """A job that starts when everything is fetched, and mounts it; one that waits for another waits already."""
    pod = job["template"]["spec"]["template"]["spec"]
    for container in pod["containers"]:
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), workspace_mount()]
    if job.get("dependsOn"):
        return job
    return {**job, **shipped_runtime.depends_on(job, "Complete", *ROLES)}


TORCH_DISTRIBUTED_WITH_INITIALIZERS: Final = ShippedRuntime(
    "torch-distributed-with-initializers",
    "torch",
    "PyTorch with torchrun, after a dataset and a model were fetched",
    lambda: with_initializers(one_job.TORCH_DISTRIBUTED.runtime()).spec,
)
