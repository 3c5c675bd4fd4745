"""What is wrong is said with path, value and advice; everything at once, in the order written."""

from typing import Any

import pytest

from trainer_infra.api import manifests
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.shape import schema
from trainer_infra.api.trainjob import RuntimeRef, Trainer, TrainJob, TrainJobSpec
from trainer_infra.errors import InvalidInput

JSON = dict[str, Any]
POD = "spec.template.spec.replicatedJobs[0].template.spec.template.spec"


def messages(value: JSON) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        manifests.parse_object(value)
    return [str(problem) for problem in caught.value.problems]


def pod(runtime: JSON) -> JSON:
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    spec: JSON = job["template"]["spec"]["template"]["spec"]
    return spec


def test_a_typo_inside_a_pod_template_names_the_path_and_the_nearest_field(runtime: JSON) -> None:
    container = pod(runtime)["containers"][0]
    container["imagee"] = container.pop("image")
    assert messages(runtime) == [f"{POD}.containers[0].imagee: unknown field; did you mean image?"]


def test_a_name_in_pythons_spelling_is_a_typo(job: JSON) -> None:
    job["spec"]["trainer"] = {"num_nodes": 2}
    assert messages(job) == ["spec.trainer.num_nodes: unknown field; did you mean numNodes?"]


def test_an_unknown_field_like_no_other_lists_what_is_known(job: JSON) -> None:
    job["spec"]["runtimeRef"]["zzz"] = 1
    job["spec"]["qqq"] = 5
    assert messages(job) == [
        "spec.runtimeRef.zzz: unknown field; known here: apiGroup, kind and name",
        (
            "spec.qqq: unknown field; known here: activeDeadlineSeconds, "
            "initializer, managedBy, runtimePatches, runtimeRef, suspend and trainer"
        ),
    ]


NODE = "trainingRuntimeSpec.template.spec.replicatedJobs[name: node].template.spec.template.spec"


@pytest.mark.parametrize(
    ("part", "field", "said"),
    [
        ("spec", "ttlSecondsAfterFinished", "trainer-infra.dev/ttl-seconds-after-finished"),
        ("spec", "serviceAccountName", f"spec.runtimePatches, below {NODE}"),
        ("trainer", "serviceAccountName", f"spec.runtimePatches, below {NODE}"),
        ("trainer", "volumes", f"spec.runtimePatches, below {NODE}"),
        ("trainer", "nodeSelector", f"spec.runtimePatches, below {NODE}"),
        ("spec", "tolerations", f"spec.runtimePatches, below {NODE}"),
        ("trainer", "imagePullSecrets", f"spec.runtimePatches, below {NODE}"),
        ("trainer", "volumeMounts", f"below {NODE}.containers[name: node]"),
        ("trainer", "envFrom", "write it in the runtime, in spec.template.spec.replicatedJobs"),
        ("trainer", "hostNetwork", "write it in the runtime"),
        ("spec", "priorityClassName", "write it in the runtime"),
        ("spec", "backoffLimit", "write it in the runtime"),
        ("spec", "maxRestarts", "write it in the runtime, in spec.template.spec"),
        ("spec", "numNodes", "write spec.trainer.numNodes"),
        ("spec", "image", "write spec.trainer.image"),
        ("trainer", "suspend", "write spec.suspend"),
        ("trainer", "activeDeadlineSeconds", "write spec.activeDeadlineSeconds"),
        ("trainer", "resources", "write spec.trainer.resourcesPerNode"),
        ("spec", "queueName", "kueue.x-k8s.io/queue-name"),
        ("dataset", "volumeMounts", "replicatedJobs[name: dataset-initializer]"),
    ],
)
def test_a_field_that_stands_elsewhere_is_told_where(
    job: JSON, part: str, field: str, said: str
) -> None:
    spec = job["spec"]
    spec |= {"initializer": {"dataset": {}}, "trainer": {}}
    places = {"spec": spec, "trainer": spec["trainer"], "dataset": spec["initializer"]["dataset"]}
    places[part][field] = {}
    (only,) = messages(job)
    assert "unknown field; write " in only
    assert said in only


@pytest.mark.parametrize("word", ["auto", "gpu", "cpu"])
def test_a_word_for_the_processes_is_to_be_left_out(job: JSON, word: str) -> None:
    job["spec"]["trainer"] = {"numProcPerNode": word}
    (only,) = messages(job)
    assert "; leave it out: a node gets a process for each accelerator" in only


def test_a_policy_without_fields_takes_none(runtime: JSON) -> None:
    runtime["spec"]["mlPolicy"] = {"jax": {"nodes": 2}}
    assert messages(runtime) == ["spec.mlPolicy.jax.nodes: unknown field; no field is known here"]


def test_a_patch_may_not_set_what_the_patch_schema_lacks(job: JSON) -> None:
    container = {"name": "node", "image": "x"}
    inner = {"spec": {"template": {"spec": {"containers": [container]}}}}
    template = {"spec": {"replicatedJobs": [{"name": "node", "template": inner}]}}
    job["spec"]["runtimePatches"] = [
        {"manager": "me.io/x", "trainingRuntimeSpec": {"template": template}}
    ]
    assert messages(job) == [
        (
            "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec"
            ".template.spec.containers[0].image: unknown field; known here: env, name, "
            "securityContext and volumeMounts"
        )
    ]


def test_all_problems_come_at_once_in_the_order_of_the_fields(job: JSON) -> None:
    job["metadata"] = {"labels": {"a": 1}, "name": "Digits"}
    job["spec"] = {
        "trainer": {
            "numNodes": "2",
            "env": [{"name": "A", "value": 1}, {"value": "x"}, {"name": "A"}],
            "resourcesPerNode": {"limits": {"cpu": "four", "memory": True, "gpu": "4GB"}},
            "args": "train.py",
        },
        "initializer": {"dataset": {"storageUri": "digits", "secretRef": []}},
        "suspend": "false",
        "managedBy": "me",
    }
    assert messages(job) == [
        "metadata.labels.a: must be a string, got 1; put it in quotes",
        (
            "metadata.name: must be lower-case letters, digits and -, with a letter first and no - "
            "at its end, got 'Digits'; for example 'digits'"
        ),
        "spec.runtimeRef: is required",
        "spec.trainer.numNodes: must be a whole number, got '2'",
        "spec.trainer.env[0].value: must be a string, got 1; put it in quotes",
        "spec.trainer.env[1].name: is required",
        "spec.trainer.env[2]: has the same name as item 0, got {'name': 'A'}",
        (
            "spec.trainer.resourcesPerNode.limits.cpu: must be a quantity such as 1, 500m or 16Gi, "
            "got 'four'"
        ),
        (
            "spec.trainer.resourcesPerNode.limits.memory: must be a quantity such as 1, 500m or 16Gi, "
            "got True"
        ),
        (
            "spec.trainer.resourcesPerNode.limits.gpu: must be a quantity such as 1, 500m or 16Gi, "
            "got '4GB'; did you mean 4G?"
        ),
        "spec.trainer.args: must be a list, got 'train.py'",
        (
            "spec.initializer.dataset.storageUri: storageUri may be empty, or it must be a valid URI "
            "(scheme://...), got 'digits'"
        ),
        "spec.initializer.dataset.secretRef: must be an object, got []",
        "spec.suspend: must be true or false, got 'false'",
        (
            "spec.managedBy: ManagedBy must be trainer.kubeflow.org/trainjob-controller or "
            "kueue.x-k8s.io/multikueue if set, got 'me'"
        ),
    ]


def test_map_keys_stand_in_brackets_when_they_hold_more_than_a_name(job: JSON) -> None:
    job["metadata"]["annotations"] = {"example.com/on": True}
    assert messages(job) == [
        "metadata.annotations[example.com/on]: must be a string, got True; put it in quotes"
    ]


def test_null_is_no_list_item(job: JSON) -> None:
    job["spec"]["trainer"] = {"command": ["python", None], "env": [None]}
    assert messages(job) == [
        "spec.trainer.command[1]: must be a string, not null",
        "spec.trainer.env[0]: must be an object, not null",
    ]


def test_a_required_field_that_is_null_is_missing(job: JSON) -> None:
    job["spec"]["runtimeRef"] = None
    assert messages(job) == ["spec.runtimeRef: is required"]


def test_an_object_without_metadata_and_spec_lacks_both(job: JSON) -> None:
    del job["metadata"], job["spec"]
    assert messages(job) == ["metadata: is required", "spec: is required"]
    assert messages(job | {"metadata": {}, "spec": 3}) == [
        "metadata.name: a name is required",
        "spec: must be an object, got 3",
    ]


def test_jobsets_own_rules_hold_in_a_runtime(runtime: JSON) -> None:
    spec = runtime["spec"]["template"]["spec"]
    spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    spec["replicatedJobs"][0]["dependsOn"] = [{"name": "a", "status": "Complete"}]
    spec["volumeClaimPolicies"] = [
        {"templates": [{"metadata": {"namespace": "a"}}]},
        {"retentionPolicy": {"whenDeleted": "Keep"}},
    ]
    found = messages(runtime)
    assert [message.split(", got")[0] for message in found] == [
        "spec.template.spec: StartupPolicy and DependsOn APIs are mutually exclusive",
        (
            "spec.template.spec.volumeClaimPolicies[0]: namespace cannot be set for "
            "VolumeClaimPolicies templates"
        ),
        (
            "spec.template.spec.volumeClaimPolicies[1]: needs templates, which a rule of the schema "
            "reads"
        ),
        (
            "spec.template.spec.volumeClaimPolicies[1].retentionPolicy.whenDeleted: must be 'Delete' "
            "or 'Retain'"
        ),
    ]


def test_ports_are_told_apart_by_number_and_protocol(runtime: JSON) -> None:
    container = pod(runtime)["containers"][0]
    container["ports"] = [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]
    assert ClusterTrainingRuntime.from_wire(runtime).to_wire() == runtime
    container["ports"][1]["protocol"] = "TCP"
    assert messages(runtime) == [
        (
            f"{POD}.containers[0].ports[1]: has the same containerPort and protocol as item 0, "
            "got {'containerPort': 1, 'protocol': 'TCP'}"
        )
    ]


def test_a_broken_sibling_does_not_hide_a_broken_rule(runtime: JSON) -> None:
    runtime["spec"]["mlPolicy"] = {"torch": {}, "mpi": {"slots": 1}}
    assert [message.split(", got")[0] for message in messages(runtime)] == [
        "spec.mlPolicy: Only one of the policy can be configured",
        (
            "spec.mlPolicy.mpi.slots: unknown field; known here: mpiImplementation, numProcPerNode, "
            "runLauncherAsNode and sshAuthMountPath"
        ),
    ]


def test_where_is_what_the_caller_names(job: JSON) -> None:
    job["spec"]["suspend"] = 1
    with pytest.raises(InvalidInput) as caught:
        TrainJob.from_wire(job, where="TrainJob digits")
    assert str(caught.value) == "TrainJob digits: spec.suspend: must be true or false, got 1"


def test_a_jobset_spec_can_be_judged_by_itself() -> None:
    (found,) = schema.schema_findings({"replicatedJobs": [{"name": "node"}]}, "JobSetSpec")
    assert str(found.problem("")) == "replicatedJobs[0].template: is required"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "kind: is required; known kinds are "),
        ({"kind": "PyTorchJob"}, "kind: is unknown, got 'PyTorchJob'; known kinds are "),
        ({"kind": ["TrainJob"]}, "kind: is unknown, got ['TrainJob']; known kinds are "),
    ],
)
def test_an_unknown_kind_is_one_error_that_names_the_known_ones(value: JSON, message: str) -> None:
    known = "TrainJob, TrainingRuntime and ClusterTrainingRuntime"
    assert messages(value) == [f"{message}{known}"]


def test_another_version_of_the_api_is_refused(job: JSON) -> None:
    job["apiVersion"] = "kubeflow.org/v1"
    assert messages(job) == [
        "apiVersion: must be 'trainer.kubeflow.org/v1alpha1', got 'kubeflow.org/v1'"
    ]
    del job["apiVersion"]
    assert messages(job) == ["apiVersion: is required; write trainer.kubeflow.org/v1alpha1"]


def test_a_model_built_from_wrong_values_names_all_of_them() -> None:
    with pytest.raises(InvalidInput) as caught:
        Trainer(image=3, num_nodes="2", command="python", env=[1], imagee="x")  # type: ignore[arg-type, call-arg]  # wrong on purpose
    assert str(caught.value).splitlines() == [
        "Trainer: image: must be a string, got 3",
        "Trainer: command: must be a list, got 'python'",
        "Trainer: env[0]: must be an object, got 1",
        "Trainer: num_nodes: must be a whole number, got '2'",
        "Trainer: imagee: unknown field; did you mean image?",
    ]


def test_a_model_built_without_what_it_needs_says_so() -> None:
    with pytest.raises(InvalidInput) as caught:
        TrainJobSpec(suspend=1)  # type: ignore[arg-type]  # wrong on purpose
    assert str(caught.value).splitlines() == [
        "TrainJobSpec: runtimeRef: is required",
        "TrainJobSpec: suspend: must be true or false, got 1",
    ]


def test_a_model_cannot_be_changed() -> None:
    reference = RuntimeRef(name="a")
    with pytest.raises(ValueError, match="frozen"):
        reference.name = "b"  # type: ignore[misc]  # wrong on purpose
