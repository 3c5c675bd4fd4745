"""What we accept, a real API server accepts too: every object that we render.

Cases of the comparison with the reference (tests/parity/generator.py) hold everything that Trainer
lets through. JobSet is a CRD here, which does not look into pods as Kubernetes does; so valid
inputs (valid_inputs.py) are judged once more as the batch/v1 Jobs that JobSet makes of them.
"""

import copy
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from from_source.cluster import crds
from from_source.cluster.client import DRY_RUN, STRICT, Client
from tests.apiserver import valid_inputs
from tests.parity import generator
from tests.render import any_object
from trainer_infra import catalog
from trainer_infra.api import manifests
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.local.jobset import pods, replicated_job
from trainer_infra.render import pipeline

JSON = dict[str, Any]
Paths = Mapping[tuple[str, str], str]

CHUNK = 75
CHUNKS = 8
CORE = {
    ("v1", "Secret"): "/api/v1/namespaces/ns/secrets",
    ("v1", "ConfigMap"): "/api/v1/namespaces/ns/configmaps",
    ("batch/v1", "Job"): "/apis/batch/v1/namespaces/ns/jobs",
}


@pytest.fixture(scope="module")
def paths(server: Client) -> Paths:
    """Where objects of each apiVersion and kind are created."""
    server.create("/api/v1/namespaces", {"metadata": {"name": "ns"}})
    return CORE | {
        (f"{spec['group']}/{spec['versions'][0]['name']}", spec["names"]["kind"]): crds.collection(
            each, "" if spec["scope"] == "Cluster" else "ns"
        )
        for each in crds.all_definitions()
        if (spec := each["spec"])
    }


def refusal(server: Client, paths: Paths, item: JSON) -> str:
    path = paths[item["apiVersion"], item["kind"]]
    return server.create(path, item, **STRICT, **DRY_RUN).message


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_server_accepts_what_we_accept_and_all_that_we_render(
    server: Client, paths: Paths, chunk: int
) -> None:
    refused: dict[tuple[int, str], str] = {}
    judged = 0
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        case = generator.case(seed)
        for item in objects(case.train_job, case.runtime):
            message = refusal(server, paths, item)
            judged += 1
            if message:
                refused[seed, item["kind"]] = message
    assert refused == {}
    assert judged > CHUNK


@pytest.mark.parametrize("runtime", [each.name for each in catalog.RUNTIMES])
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_the_server_accepts_the_jobs_of_valid_inputs(
    server: Client, paths: Paths, runtime: str, data: st.DataObject
) -> None:
    for item in objects(*data.draw(valid_inputs.pairs(runtime))):
        assert refusal(server, paths, item) == ""
        if item["kind"] == "JobSet":
            assert [refusal(server, paths, each) for each in jobs(item)] == [""] * len(
                item["spec"]["replicatedJobs"]
            )


@given(job=any_object.train_jobs(), runtime=any_object.runtimes())
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
def test_the_server_accepts_what_is_rendered_of_anything_that_the_schemas_allow(
    server: Client, paths: Paths, job: JSON, runtime: JSON
) -> None:
    assert [
        message for item in objects(job, runtime) if (message := refusal(server, paths, item))
    ] == []


def objects(train_job: JSON, training_runtime: JSON) -> Iterator[JSON]:
    """A TrainJob, its runtime and what is rendered of them; none when that is refused."""
    try:
        job, runtime = manifests.parse_object(train_job), manifests.parse_object(training_runtime)
        assert isinstance(job, TrainJob)
        assert isinstance(runtime, TrainingRuntime | ClusterTrainingRuntime)
        rendered = pipeline.render(job, runtime)
    except InvalidInput:
        return
    yield job.to_wire()
    yield runtime.to_wire()
    yield from map(with_values, rendered)


def with_values(item: Mapping[str, Any]) -> JSON:
    """A Secret with some value in place of what is made at create; other objects as they are."""
    if item["kind"] != "Secret":
        return dict(item)
    value = b64encode(b"x").decode()
    return {**item, "data": dict.fromkeys(item["data"], value)}


def jobs(jobset: JSON) -> Iterator[JSON]:
    """The first Job of each replicated job, with what JobSet's webhook and controller add."""
    for entry in jobset["spec"]["replicatedJobs"]:
        template = copy.deepcopy(entry["template"])
        pod = template["spec"]["template"]["spec"]
        pod.setdefault("restartPolicy", "OnFailure")
        claims = pods.claim_volumes(jobset, pod)
        pod["volumes"] = [*(pod.get("volumes") or ()), *claims]
        name = replicated_job.job_name(jobset["metadata"]["name"], entry["name"], 0)
        yield {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {**template.get("metadata", {}), "name": name},
            "spec": {"completionMode": "Indexed", **template["spec"]},
        }
