"""A pod has each claim by one volume, whoever mounts it: the kubelet starts no other pod."""

from collections import Counter
from typing import Any

import pytest

from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.trainers import adapter_base, claim_volumes, compose, kept_outputs
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.libraries.trl import Trl

JSON = dict[str, Any]
RUNTIME = catalog.get("torch-distributed-with-initializers")
OWN: JSON = {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}


def edited(volume: JSON, *steps: str) -> Runtime:
    """The runtime with a volume in the pods of these jobs, mounted at /data."""
    wire = RUNTIME.to_wire()
    for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        if job["name"] in steps:
            pod = job["template"]["spec"]["template"]["spec"]
            pod["volumes"] = [*(pod.get("volumes") or ()), volume]
            for container in pod["containers"]:
                mounts = container.get("volumeMounts") or ()
                container["volumeMounts"] = [*mounts, {"name": "data", "mountPath": "/data"}]
    return ClusterTrainingRuntime.from_wire(wire)


def pods(
    runtime: Runtime,
    kept: dict[str, str],
    code: Code | None = None,
    cache: str | None = None,
    patches: tuple[JSON, ...] = (),
    **initializer: JSON,
) -> dict[str, JSON]:
    """The specs of pods by job, of a run as the deploy room composes it."""
    job: JSON = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "run-1", "namespace": "team"},
        "spec": {"runtimeRef": {"name": runtime.metadata.name}, "runtimePatches": [*patches]},
    }
    if initializer:
        job["spec"]["initializer"] = initializer
    job = kept_outputs.attach_outputs(job, runtime, kept)
    job = adapter_base.with_adapter_claim(job, runtime, code, str)
    job = claim_volumes.attach_claims(job, runtime, str)
    behaviour = Behaviour(OURS.plugins, package_cache=cache)
    run = compose.compose(job, runtime, code, (), behaviour)
    (jobset,) = (each for each in run.objects if each["kind"] == "JobSet")
    found = jobset["spec"]["replicatedJobs"]
    return {each["name"]: each["template"]["spec"]["template"]["spec"] for each in found}


def claims(pod: JSON) -> Counter[str]:
    """How many volumes each claim has."""
    return Counter(
        each["persistentVolumeClaim"]["claimName"]
        for each in pod.get("volumes") or ()
        if "persistentVolumeClaim" in each
    )


def mounted(pod: JSON, claim: str) -> dict[str, str]:
    """Place to path in the claim."""
    (volume,) = (
        each["name"]
        for each in pod["volumes"]
        if (each.get("persistentVolumeClaim") or {}).get("claimName") == claim
    )
    return {
        each["mountPath"]: each.get("subPath", "")
        for container in pod["containers"]
        for each in container.get("volumeMounts") or ()
        if each["name"] == volume
    }


def test_outputs_of_one_claim_share_its_volume() -> None:
    kept = {name: f"pvc://shared/run-1/{name}" for name in ("model", "dataset", "logs")}
    node = pods(RUNTIME, kept)["node"]
    assert claims(node)["shared"] == 1
    places = {f"/opt/trainer-infra/outputs/{name}": f"run-1/{name}" for name in kept}
    assert mounted(node, "shared") == places


def test_outputs_packages_and_an_adapter_of_one_claim_share_it() -> None:
    packages = ["trl==1.16.0"]
    code = Trl("dpo", adapter="pvc://shared/sft/model", packages=packages).pack().code
    node = pods(RUNTIME, {"model": "pvc://shared/dpo"}, code, "pvc://shared/python")["node"]
    assert claims(node)["shared"] == 1
    found = mounted(node, "shared")
    assert found["/opt/trainer-infra/outputs/model"] == "dpo"
    assert found["/opt/trainer-infra/claims/shared"] == ""
    assert found["/opt/trainer-infra/packages"].startswith("python")


def test_the_volume_of_the_runtime_is_taken() -> None:
    node = pods(edited(OWN, "node"), {"model": "pvc://shared/m", "logs": "pvc://shared/l"})["node"]
    assert claims(node)["shared"] == 1
    assert mounted(node, "shared") == {
        "/data": "",
        "/opt/trainer-infra/outputs/model": "m",
        "/opt/trainer-infra/outputs/logs": "l",
    }


def test_the_volume_of_the_users_own_patch_is_taken() -> None:
    container = {"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    pod = {"volumes": [OWN], "containers": [container]}
    step = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    spec = {"template": {"spec": {"replicatedJobs": [step]}}}
    patch = {"manager": "team/data", "trainingRuntimeSpec": spec}
    node = pods(RUNTIME, {"model": "pvc://shared/m"}, patches=(patch,))["node"]
    assert claims(node)["shared"] == 1
    assert mounted(node, "shared") == {"/data": "", "/opt/trainer-infra/outputs/model": "m"}


def test_an_initializer_that_has_the_claim_reads_it_from_there() -> None:
    runtime = edited(OWN, "dataset-initializer")
    found = pods(runtime, {}, dataset={"storageUri": "pvc://shared/words"})
    initializer = found["dataset-initializer"]
    assert claims(initializer)["shared"] == 1
    assert set(mounted(initializer, "shared")) == {"/data", "/opt/trainer-infra/claims/shared"}
    assert "shared" not in claims(found["node"])


def test_a_claim_that_the_runtime_has_for_reading_alone_takes_no_output() -> None:
    volume = {**OWN, "persistentVolumeClaim": {"claimName": "shared", "readOnly": True}}
    said = "has the claim shared for reading alone, and /opt/trainer-infra/outputs/model of it is"
    with pytest.raises(InvalidInput, match=said):
        pods(edited(volume, "node"), {"model": "pvc://shared/m"})


def test_a_preview_tells_of_the_users_own_two_volumes() -> None:
    runtime = edited({**OWN, "name": "data"}, "node")
    wire = runtime.to_wire()
    for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        volumes = job["template"]["spec"]["template"]["spec"].get("volumes")
        if volumes and job["name"] == "node":
            volumes.append({**OWN, "name": "results"})
    job = TrainJob.from_wire(
        {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {"name": "run-1", "namespace": "team"},
            "spec": {"runtimeRef": {"name": runtime.metadata.name}},
        }
    )
    said = pipeline.rendering_warnings(job, ClusterTrainingRuntime.from_wire(wire))
    assert said == (
        (
            "job node: the volumes 'data' and 'results' use one claim, shared, and the kubelet never starts such a "
            "pod; mount 'data' twice, with a subPath each"
        ),
    )


def test_several_claims_are_several_volumes() -> None:
    node = pods(RUNTIME, {"model": "pvc://models", "logs": "pvc://logs"})["node"]
    assert (claims(node)["models"], claims(node)["logs"]) == (1, 1)
