"""Our CRDs are the published ones, in our words, as the library and the command line give them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from from_source.cluster import crds
from from_source.cluster.client import Client
from trainer_infra.api import crd, manifests
from trainer_infra.api.shape import schema

JSON = dict[str, Any]

PROVENANCE = json.loads(
    (Path(schema.__file__).parents[1] / "schemas" / "provenance.json").read_text(encoding="utf-8")
)
PUBLISHED = {
    each["kind"]: crds.Published(each["module"], each["version"], each["path"], each["sha256"])
    # Older releases of Trainer come last.
    for each in reversed(PROVENANCE)
}
LARGEST_ANNOTATION = 262144
PROGRAM = str(Path(sys.executable).with_name("trainer-infra"))


def without_descriptions(value: Any, *, names: bool = False) -> Any:
    """A copy without prose; `names` when the keys are names of fields, which may be any word."""
    if isinstance(value, list):
        return [without_descriptions(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_descriptions(each, names=key == "properties" and not names)
        for key, each in value.items()
        if names or key != "description"
    }


def described(node: JSON, path: str = "") -> Iterator[str]:
    if "description" in node:
        yield path
    for name, field in node.get("properties", {}).items():
        yield from described(field, f"{path}.{name}")
    if "items" in node:
        yield from described(node["items"], f"{path}[]")


@pytest.mark.verify
@pytest.mark.parametrize("kind", manifests.KINDS)
def test_a_crd_is_the_published_one_except_for_words(kind: str) -> None:
    (ours,) = crd.crd_definitions((kind,))
    published = crds.published(PUBLISHED[kind])
    # It names the generator of the reference.
    del published["metadata"]["annotations"]
    assert without_descriptions(ours) == without_descriptions(published)


def test_every_field_of_our_own_is_described_and_core_types_are_not() -> None:
    (job,) = crd.crd_definitions(("TrainJob",))
    found = set(described(job["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))
    assert {
        "",
        ".spec.runtimeRef.apiGroup",
        ".spec.trainer.env",
        ".status.conditions[].type",
    } < found
    assert ".metadata" not in found
    assert not any(path.startswith((".spec.trainer.env[]", ".metadata")) for path in found)


def test_a_crd_can_be_applied_without_server_side_apply() -> None:
    for each in crd.crd_definitions():
        assert len(json.dumps(each)) < LARGEST_ANNOTATION


def test_each_call_makes_new_objects() -> None:
    (first,) = crd.crd_definitions(("TrainJob",))
    first["spec"]["versions"].clear()
    (second,) = crd.crd_definitions(("TrainJob",))
    assert len(second["spec"]["versions"]) == 1


def test_the_server_finds_the_schemas_structural_and_serves_all_kinds(server: Client) -> None:
    for each in crd.crd_definitions():
        stored = server.get(f"{crds.COLLECTION}/{each['metadata']['name']}").body
        conditions = {one["type"]: one["status"] for one in stored["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_what_is_not_served_yet_is_a_refusal_also_where_its_answer_is_plain_text(
    server: Client,
) -> None:
    assert server.get("/apis/nobody.example/v1").message == "HTTP 404"


def test_the_server_fills_in_defaults(server: Client) -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}},
    }
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "mpi"},
        "spec": {
            "mlPolicy": {"mpi": {}},
            "podGroupPolicy": {"coscheduling": {}, "volcano": {"networkTopology": {}}},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {}}]}},
        },
    }
    group = "/apis/trainer.kubeflow.org/v1alpha1"
    stored_job = server.create(f"{group}/namespaces/default/trainjobs", job, dryRun="All").body
    stored_runtime = server.create(f"{group}/clustertrainingruntimes", runtime, dryRun="All").body
    assert stored_job["spec"] == {
        "runtimeRef": {
            "name": "torch-distributed",
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
        },
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "suspend": False,
    }
    assert stored_runtime["spec"] == {
        "mlPolicy": {
            "mpi": {
                "mpiImplementation": "OpenMPI",
                "numProcPerNode": 1,
                "runLauncherAsNode": False,
                "sshAuthMountPath": "/root/.ssh",
            }
        },
        "podGroupPolicy": {
            "coscheduling": {"scheduleTimeoutSeconds": 60},
            "volcano": {"networkTopology": {"highestTierAllowed": 1, "mode": "hard"}},
        },
        "template": {
            "spec": {
                "replicatedJobs": [
                    {"name": "node", "template": {}, "replicas": 1, "groupName": "default"}
                ]
            }
        },
    }


def test_kubectl_get_shows_the_last_condition_and_the_age(server: Client) -> None:
    path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
    columns = server.get_table(path).body["columnDefinitions"]
    assert [(each["name"], each["type"]) for each in columns] == [
        ("Name", "string"),
        ("State", "string"),
        ("Age", "date"),
    ]


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PROGRAM, "crds", *arguments], check=False, capture_output=True, text=True
    )


def test_the_command_prints_all_crds_as_yaml_or_some_as_a_json_list() -> None:
    assert list(yaml.safe_load_all(command().stdout)) == list(crd.crd_definitions())
    found = json.loads(command("-o", "json", "TrainingRuntime", "TrainJob").stdout)
    assert found == {
        "apiVersion": "v1",
        "kind": "List",
        "items": list(crd.crd_definitions(("TrainingRuntime", "TrainJob"))),
    }


def test_the_command_refuses_a_kind_that_has_no_crd() -> None:
    done = command("Job")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "no such kind, got 'Job'; use TrainJob, TrainingRuntime or ClusterTrainingRuntime\n",
    )
