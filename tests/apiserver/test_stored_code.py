"""A job whose code is in a store: a real API server takes its TrainJob, its ConfigMap, and the Job of its pods."""

from typing import Any

import pytest

from from_source.cluster.client import DRY_RUN, STRICT, Client
from trainer_infra import catalog, names
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import Code, StoredCode

NAMESPACE = "stored"


@pytest.fixture(scope="module")
def namespaced(server: Client) -> Client:
    server.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    return server


@pytest.mark.parametrize("store", ["s3://bucket/code", "file:///mnt/code"])
def test_a_server_takes_what_fetches_code(namespaced: Client, store: str) -> None:
    runtime = catalog.get("torch-distributed")
    stored = StoredCode(f"{store}/{'a' * 64}.tar", "b" * 64, "keys", "an/image:1")
    code = Code({"main.py": "", "launch.json": "{}"}, (), secret_args=False, stored=stored)
    limits = {"limits": {"nvidia.com/gpu": 2, "cpu": 4}}
    job: dict[str, Any] = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "digits", "namespace": NAMESPACE},
        "spec": {
            "runtimeRef": {"name": runtime.metadata.name},
            "trainer": {"numNodes": 2, "resourcesPerNode": limits},
        },
    }
    made = compose.compose(job, runtime, code, ())
    (replicated,) = made.objects[-1]["spec"]["replicatedJobs"]
    pod = replicated["template"]["spec"]["template"]["spec"]
    spec = {
        **replicated["template"]["spec"],
        "template": {"spec": {"restartPolicy": "Never", **pod}},
    }
    own = {"metadata": {"name": "digits", "namespace": NAMESPACE}}
    asked = {
        f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "spec": spec,
            **own,
        },
        f"/apis/{names.API_VERSION}/namespaces/{NAMESPACE}/trainjobs": made.job.to_wire(),
    }
    answers = {
        path: namespaced.create(path, each, **STRICT, **DRY_RUN).message
        for path, each in asked.items()
    }
    assert answers == dict.fromkeys(asked, "")
    assert pod["initContainers"][0]["name"] == names.CODE_INITIALIZER
