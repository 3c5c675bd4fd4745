"""Rules of the published schemas that compare with the old object. Reference behaviour 1.1, 1.2, 1.4."""

import copy
from typing import Any

import pytest

from trainer_infra.api import transitions
from trainer_infra.api.finding import path_text
from trainer_infra.api.shape import schema

NODE_POD: dict[str, Any] = {
    "serviceAccountName": "a",
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}],
    "initContainers": [{"name": "i"}],
    "containers": [{"name": "node", "securityContext": {"runAsUser": 1}}],
    "imagePullSecrets": [{"name": "s"}],
    "securityContext": {"runAsUser": 1},
    "terminationGracePeriodSeconds": 5,
    "nodeSelector": {"pool": "a"},
    "affinity": {"nodeAffinity": {}},
    "tolerations": [{"key": "a"}],
    "schedulingGates": [{"name": "g"}],
}
TRAIN_JOB: dict[str, Any] = {
    "metadata": {"name": "tj"},
    "spec": {
        "runtimeRef": {"name": "torch-distributed"},
        "initializer": {"dataset": {"storageUri": "hf://a/b"}},
        "trainer": {"numNodes": 2, "env": [{"name": "A"}, {"name": "B"}], "args": ["a", "b"]},
        "activeDeadlineSeconds": 10,
        "suspend": True,
        "runtimePatches": [
            {
                "manager": "acme.io/x",
                "trainingRuntimeSpec": {
                    "template": {
                        "spec": {
                            "replicatedJobs": [
                                {
                                    "name": "node",
                                    "template": {"spec": {"template": {"spec": NODE_POD}}},
                                }
                            ]
                        }
                    }
                },
            }
        ],
    },
}
RUNTIME: dict[str, Any] = {
    "metadata": {"name": "r"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "failurePolicy": {"maxRestarts": 1},
                "network": {"subdomain": "a"},
                "successPolicy": {"operator": "All"},
                "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
                "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "v"}}]}],
                "replicatedJobs": [
                    {"name": "a"},
                    {"name": "b", "dependsOn": [{"name": "a", "status": "Ready"}]},
                ],
            }
        },
    },
}
POD_PATH = (
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0]"
    ".template.spec.template.spec."
)


def changed(value: dict[str, Any], path: tuple[str | int, ...], new: Any) -> dict[str, Any]:
    result = copy.deepcopy(value)
    place: Any = result
    for part in path[:-1]:
        place = place[part]
    if new is None:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return result


def found(old: dict[str, Any], new: dict[str, Any], kind: str = "TrainJob") -> list[str]:
    return [
        f"{path_text(each.path)}: {each.what}"
        for each in transitions.transition_findings(old, new, kind)
    ]


POD: tuple[str | int, ...] = (
    *("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec"),
    *("replicatedJobs", 0, "template", "spec", "template", "spec"),
)


@pytest.mark.parametrize(
    ("path", "new", "refused"),
    [
        (("spec", "runtimeRef", "name"), "other", "spec.runtimeRef"),
        (("spec", "initializer", "dataset", "storageUri"), "hf://c/d", "spec.initializer"),
        (("spec", "trainer", "numNodes"), 3, "spec.trainer"),
        (("spec", "trainer", "args"), ["b", "a"], "spec.trainer"),
        (("spec", "activeDeadlineSeconds"), 11, "spec.activeDeadlineSeconds"),
        (("spec", "managedBy"), "kueue.x-k8s.io/multikueue", "spec.managedBy"),
        ((*POD, "serviceAccountName"), "b", f"{POD_PATH}serviceAccountName"),
        ((*POD, "volumes", 0, "emptyDir"), {"medium": "Memory"}, f"{POD_PATH}volumes"),
        ((*POD, "initContainers"), [{"name": "j"}], f"{POD_PATH}initContainers"),
        ((*POD, "containers", 0, "env"), [{"name": "A"}], f"{POD_PATH}containers"),
        ((*POD, "imagePullSecrets", 0, "name"), "t", f"{POD_PATH}imagePullSecrets"),
        ((*POD, "securityContext", "runAsUser"), 2, f"{POD_PATH}securityContext"),
        (
            (*POD, "terminationGracePeriodSeconds"),
            6,
            f"{POD_PATH}terminationGracePeriodSeconds",
        ),
    ],
)
def test_an_immutable_field_of_a_train_job_may_not_change(
    path: tuple[str | int, ...], new: object, refused: str
) -> None:
    assert found(TRAIN_JOB, changed(TRAIN_JOB, path, new)) == [f"{refused}: field is immutable"]


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("spec", "suspend"), False),
        (("metadata", "labels"), {"a": "b"}),
        ((*POD, "nodeSelector", "pool"), "b"),
        ((*POD, "affinity"), {"podAffinity": {}}),
        ((*POD, "tolerations"), [{"key": "b"}]),
        ((*POD, "schedulingGates"), [{"name": "h"}]),
        (("spec", "runtimePatches", 0, "manager"), "acme.io/other"),
        (("spec", "trainer"), None),
        ((*POD, "volumes"), None),
        (("spec", "trainer", "env"), [{"name": "B"}, {"name": "A"}]),
        (("spec", "runtimeRef", "kind"), "ClusterTrainingRuntime"),
        (("spec", "managedBy"), "trainer.kubeflow.org/trainjob-controller"),
    ],
)
def test_other_fields_defaults_order_of_list_maps_and_removal_pass(
    path: tuple[str | int, ...], new: object
) -> None:
    assert found(TRAIN_JOB, changed(TRAIN_JOB, path, new)) == []


@pytest.mark.parametrize(
    ("path", "new", "refused"),
    [
        (("failurePolicy", "maxRestarts"), 2, "failurePolicy"),
        (("network", "subdomain"), "b", "network"),
        (("successPolicy", "operator"), "Any", "successPolicy"),
        (("startupPolicy", "startupPolicyOrder"), "InOrder", "startupPolicy"),
        (
            ("volumeClaimPolicies", 0, "templates", 0, "metadata", "name"),
            "w",
            "volumeClaimPolicies",
        ),
        (
            ("replicatedJobs", 1, "dependsOn", 0, "status"),
            "Complete",
            "replicatedJobs[1].dependsOn",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_jobsets_own_immutable_fields_of_a_runtime_may_not_change(
    path: tuple[str | int, ...], new: object, refused: str, kind: str
) -> None:
    new_runtime = changed(RUNTIME, ("spec", "template", "spec", *path), new)
    assert found(RUNTIME, new_runtime, kind) == [
        f"spec.template.spec.{refused}: Value is immutable"
    ]


def test_the_rest_of_a_runtime_may_change() -> None:
    edited = changed(RUNTIME, ("spec", "mlPolicy", "numNodes"), 4)
    restart = ("spec", "template", "spec", "failurePolicy", "restartStrategy")
    assert found(RUNTIME, changed(edited, restart, "Recreate"), "TrainingRuntime") == []


def test_all_changes_are_found_at_once_in_the_order_of_the_schema() -> None:
    new = changed(TRAIN_JOB, ("spec", "trainer", "numNodes"), 3)
    assert found(TRAIN_JOB, changed(new, ("spec", "activeDeadlineSeconds"), 11)) == [
        "spec.activeDeadlineSeconds: field is immutable",
        "spec.trainer: field is immutable",
    ]


def test_every_rule_about_the_old_object_is_of_the_one_kind_that_is_checked() -> None:
    def rules(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {rule["rule"] for rule in node.get("x-kubernetes-validations", ())}
            return own.union(*(rules(each) for each in node.values()))
        return set().union(*(rules(each) for each in node)) if isinstance(node, list) else set()

    about_old = {rule for rule in rules(list(schema.published_schema())) if "oldSelf" in rule}
    assert about_old == {transitions.UNCHANGED}
