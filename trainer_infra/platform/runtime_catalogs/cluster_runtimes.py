"""Runtimes of a catalog that are in the cluster and no longer in the program, and which of them stay."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotServed
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB


@dataclass(frozen=True, slots=True)
class CatalogPlace:
    """A catalog in a cluster."""

    identity: str
    """The label value of what it keeps."""
    declared: frozenset[str]
    """Names that the program declares."""
    keeps_versions: bool
    """Whether frozen copies of former contents stay though no job names them."""


async def left_runtimes(client: KubeClient, place: CatalogPlace) -> Sequence[JSONObject]:
    """Runtimes that stay though the program does not declare them, as the cluster has them.

    A runtime stays while a TrainJob names it, even one that is finished: Kubeflow's SDK reads the runtime
    of each job that it lists.

    Raises:
        Refused: The account may not list runtimes or TrainJobs.
    """
    try:
        await client.resource(names.API_VERSION, names.CLUSTER_TRAINING_RUNTIME)
    except NotServed:
        return ()
    mine = f"{names.CATALOG_LABEL}={place.identity}"
    found = await client.list(ObjectSelection(CLUSTER_TRAINING_RUNTIME, labels=mine))
    left = [each for each in found.items if _is_left(each, place)]
    if not left:
        return ()
    jobs = await client.list(ObjectSelection(TRAIN_JOB))
    used = frozenset(filter(None, map(_runtime_of, jobs.items)))
    return [each for each in left if each["metadata"]["name"] in used or _is_kept(each, place)]


def deprecated_runtime(live: JSONObject) -> JSONDict:
    """What the program goes on to declare of a runtime that it has no more: only its labels change.

    By the label of its own, Trainer warns when a job is submitted to it.
    """
    metadata = live["metadata"]
    marks = {
        names.DEPRECATED_LABEL: "true",
        names.SUPPORT_LABEL: names.SUPPORT_DEPRECATED,
    }
    labels = {**(metadata.get("labels") or {}), **marks}
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {"name": metadata["name"], "labels": labels},
        "spec": live["spec"],
    }


def _is_left(live: JSONObject, place: CatalogPlace) -> bool:
    metadata = live["metadata"]
    return metadata["name"] not in place.declared and "deletionTimestamp" not in metadata


def _is_kept(live: JSONObject, place: CatalogPlace) -> bool:
    return place.keeps_versions and names.VERSION_OF_LABEL in live["metadata"]["labels"]


def _runtime_of(job: JSONObject) -> str | None:
    """The ClusterTrainingRuntime that a TrainJob names, if it names one."""
    reference = job["spec"]["runtimeRef"]
    kind = reference.get("kind", names.CLUSTER_TRAINING_RUNTIME)
    return str(reference["name"]) if kind == names.CLUSTER_TRAINING_RUNTIME else None
