"""Where a finding about a rendered pod points: what the TrainJob says, its patch, or its runtime."""

from collections.abc import Mapping
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.rules import tree, world
from trainer_infra.rules.data import initializers
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict, judge
from trainer_infra.rules.pod_security import capabilities, node_access, security_context
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import images
from trainer_infra.rules.value import UNKNOWN
from trainer_infra.trainers import code_mount, package_mounts
from trainer_infra.trainers.code import Code

POD = (
    "trainingRuntimeSpec",
    "template",
    "spec",
    "replicatedJobs",
    0,
    "template",
    "spec",
    "template",
)
PATCH = ("spec", "runtimePatches", 0, *POD, "spec")
REFERENCE = ("spec", "runtimeRef", "name")


def judged(rule: AnyRule | ConfiguredRule, runtime: str, **spec: Any) -> RuleVerdict | None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": runtime}, **spec},
    }
    (subject,) = tree.subjects_of([job])
    chosen = rule if isinstance(rule, ConfiguredRule) else ConfiguredRule.default(rule)
    return next(judge(subject, world.world_of([subject]), [chosen]), None)


def patched(pod: Mapping[str, Any]) -> dict[str, Any]:
    template = {"spec": {"template": {"spec": pod}}}
    jobs = [{"name": "node", "template": template}]
    patch = {"template": {"spec": {"replicatedJobs": jobs}}}
    return {"runtimePatches": [{"manager": "example.com/a", "trainingRuntimeSpec": patch}]}


def test_the_image_of_mpis_nodes_is_the_trainers() -> None:
    found = judged(images.IMAGE_DIGEST, "deepspeed-distributed", trainer={"image": "own:v1"})
    assert found is not None
    assert {(each.path, each.got) for each in found.findings} == {
        (("spec", "trainer", "image"), "own:v1")
    }


def test_a_field_of_a_patch_that_is_not_known_hides_that_field_alone() -> None:
    pod = {"securityContext": {"runAsUser": 0, "runAsNonRoot": UNKNOWN}}
    found = judged(security_context.RUN_AS_NON_ROOT, "torch-distributed", **patched(pod))
    assert found is not None
    assert [each.path for each in found.findings] == [(*PATCH, "securityContext", "runAsUser")]
    assert found.unseen == ((*PATCH, "securityContext", "runAsNonRoot"),)


def test_what_a_patch_that_is_not_known_may_give_a_pod_is_not_missing() -> None:
    found = judged(
        security_context.SECCOMP, "torch-distributed", **patched({"securityContext": UNKNOWN})
    )
    assert found is not None
    assert found.findings == ()
    assert found.unseen == ((*PATCH, "securityContext"),)


def test_a_patch_that_is_not_known_hides_no_other() -> None:
    container = {"name": "node", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
    patches = patched({"containers": [container]})["runtimePatches"]
    found = judged(
        capabilities.CAPABILITIES_ADDED, "torch-distributed", runtimePatches=[*patches, UNKNOWN]
    )
    assert found is not None
    where = ("containers", 0, "securityContext", "capabilities", "add", 0)
    assert [each.path for each in found.findings] == [(*PATCH, *where)]


def test_variables_that_only_a_patch_that_is_not_known_may_give() -> None:
    patches = [{"manager": "example.com/a", "trainingRuntimeSpec": {"template": UNKNOWN}}]
    kept = initializers.STORAGE_SCHEME.parameters(allow=("s3",), outputs=("s3",))
    chosen = ConfiguredRule(initializers.STORAGE_SCHEME, initializers.STORAGE_SCHEME.severity, kept)
    found = judged(chosen, "plain-distributed", runtimePatches=patches)
    assert found is not None
    assert found.findings == ()
    assert (*PATCH[:3], "trainingRuntimeSpec", "template") in found.unseen


@pytest.mark.parametrize(("cache", "paths"), [("/cache", ["/cache/vision"]), ("pvc://own/x", [])])
def test_a_cache_of_packages_in_a_folder_of_the_node_is_one(cache: str, paths: list[str]) -> None:
    code = Code({package_mounts.INSTALLING: ""}, ("six==1.17.0",), secret_args=False)
    job = {"metadata": {"name": "digits", "namespace": "vision"}, "spec": {}}
    runtime = catalog.get("torch-distributed")
    attached, _ = code_mount.attach_code(job, runtime, code, cache=cache)
    found = judged(node_access.HOST_PATH, "torch-distributed", **attached["spec"])
    assert [each.got for each in (found.findings if found else ())] == paths
