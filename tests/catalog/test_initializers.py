"""`with_initializers`: what it adds to a runtime, and what it refuses."""

from importlib import metadata

import pytest

from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.catalog import initializers
from trainer_infra.catalog.initializers import with_initializers
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline

MOUNT = {"name": "initializer", "mountPath": "/workspace"}


def test_a_runtime_fetches_first_and_trains_on_the_same_volume() -> None:
    plain = catalog.get("plain-distributed")
    runtime = with_initializers(plain, storage="1Ti", access="ReadWriteMany", image="mine:1")

    assert plain == catalog.get("plain-distributed")
    template = runtime.spec.template
    assert template is not None
    assert template.spec is not None
    dataset, model, node = template.spec["replicatedJobs"]
    for job, role in ((dataset, "dataset"), (model, "model")):
        assert job["template"]["metadata"]["labels"] == {names.ANCESTOR_LABEL: job["name"]}
        assert job["template"]["spec"]["template"]["spec"]["containers"] == [
            {
                "name": f"{role}-initializer",
                "image": "mine:1",
                "args": [role, "--optional"],
                "volumeMounts": [MOUNT],
            }
        ]
    assert node["dependsOn"] == [
        {"name": "dataset-initializer", "status": "Complete"},
        {"name": "model-initializer", "status": "Complete"},
    ]
    (claims,) = template.spec["volumeClaimPolicies"]
    assert claims["templates"][0]["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Ti"}},
    }


def test_a_job_that_waits_for_another_waits_for_that_alone() -> None:
    runtime = with_initializers(catalog.get("deepspeed-distributed"))
    job = {
        "metadata": {"name": "tj", "namespace": "n"},
        "spec": {
            "runtimeRef": {"name": "deepspeed-distributed"},
            "initializer": {"model": {"storageUri": "hf://a/b"}},
        },
    }
    jobset = pipeline.render(TrainJob.from_wire(job), runtime)[-1]
    waits = {
        each["name"]: [other["name"] for other in each.get("dependsOn", ())]
        for each in jobset["spec"]["replicatedJobs"]
    }
    assert waits == {
        "dataset-initializer": [],
        "model-initializer": [],
        "node": ["dataset-initializer", "model-initializer"],
        "launcher": ["node"],
    }
    for each in jobset["spec"]["replicatedJobs"]:
        (container,) = each["template"]["spec"]["template"]["spec"]["containers"]
        assert MOUNT in container["volumeMounts"]


def test_a_runtime_that_has_initializers_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        with_initializers(catalog.get("torchtune-llama3.2-1b"))
    assert str(caught.value) == "\n".join(
        f"spec.template.spec.replicatedJobs[{index}]: has an initializer already, got "
        f"'{role}-initializer'; use the runtime as it is"
        for index, role in enumerate(("dataset", "model"))
    )


def test_the_image_is_that_of_this_release() -> None:
    assert f"trainer-infra/initializer:{metadata.version('trainer-infra')}" == initializers.IMAGE
