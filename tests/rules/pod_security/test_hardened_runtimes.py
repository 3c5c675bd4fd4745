"""Hardened variants of the shipped runtimes pass the pack `restricted`; those that have none have a reason."""

from datetime import date
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api import yamltext
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.catalog.hardening import SUFFIX, WITHOUT, hardened
from trainer_infra.json_values import with_leaves
from trainer_infra.platform import catalog_content
from trainer_infra.render import pipeline
from trainer_infra.review import check, source_objects, sources
from trainer_infra.review.check import CheckScope
from trainer_infra.review.report import Report
from trainer_infra.rules.configuration import Configuration, resolve_configuration
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.packs import RESTRICTED

DIGEST = f"@sha256:{'1' * 64}"
CHOSEN = resolve_configuration(Configuration(), None, RESTRICTED)
VARIANTS = [f"{each.name}{SUFFIX}" for each in catalog.RUNTIMES if each.framework not in WITHOUT]


def report_of(*objects: Any) -> Report:
    documents = source_objects.of_text(yamltext.dump_yaml(objects), "a.yaml").documents
    return check.check_documents(documents, CheckScope(CHOSEN, date(2026, 11, 29)))


def told(*objects: Any) -> set[str]:
    """Rules that stop the objects."""
    return {
        each.rule.id
        for each in report_of(*objects).items
        if each.severity.is_at_least(Severity.MEDIUM)
    }


def job(runtime: str, **trainer: Any) -> dict[str, Any]:
    command = ["mpirun", "python", "t.py"] if "mpi" in _policy(runtime) else ["torchrun", "t.py"]
    amounts = {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 1}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {
            "activeDeadlineSeconds": 3600,
            "runtimeRef": {"name": runtime},
            "trainer": {
                "command": command,
                "resourcesPerNode": {"limits": amounts, "requests": amounts},
                **trainer,
            },
        },
    }


def _policy(runtime: str) -> dict[str, Any]:
    policy: dict[str, Any] = catalog.get(runtime).to_wire()["spec"]["mlPolicy"]
    return policy


def pinned(runtime: dict[str, Any]) -> Any:
    """A runtime as it is installed, with digests."""
    images = catalog_content.spec_images(runtime["spec"])
    return with_leaves(
        runtime, lambda leaf: f"{leaf.partition('@')[0]}{DIGEST}" if leaf in images else leaf
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_passes_by_itself_and_under_a_train_job(name: str) -> None:
    runtime = pinned(catalog.get(name).to_wire())
    assert told(runtime) == set()
    assert told(runtime, job(name)) == set()
    assert told(job(name)) == set()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_differs_in_what_hardens_it_alone(name: str) -> None:
    plain = catalog.get(name.removesuffix(SUFFIX))
    variant = catalog.get(name)
    assert variant.spec == hardened(plain).spec
    assert variant.metadata.labels == plain.metadata.labels
    for shipped, made in zip(_pods(plain.to_wire()), _pods(variant.to_wire()), strict=True):
        assert [each["image"] for each in made["containers"]] == [
            each["image"] for each in shipped["containers"]
        ]
        assert made["securityContext"]["runAsNonRoot"] is True
    train_job = TrainJob.from_wire(job(name, numNodes=2))
    assert pipeline.render(train_job, variant)[-1]["kind"] == "JobSet"


def _pods(wire: Any) -> list[Any]:
    jobs = wire["spec"]["template"]["spec"]["replicatedJobs"]
    return [each["template"]["spec"]["template"]["spec"] for each in jobs]


def test_digests_are_asked_of_what_the_platform_does_not_install() -> None:
    own = job(VARIANTS[0], image="registry.example/team/train:1")
    assert told(own) == {"image-digest"}
    assert told(catalog.get(VARIANTS[0]).to_wire(), job(VARIANTS[0])) == {"image-digest"}
    assert "image-digest" in told(job("torch-distributed"))


def test_the_other_frameworks_have_no_variant() -> None:
    left = [each.name for each in catalog.RUNTIMES if f"{each.name}{SUFFIX}" not in VARIANTS]
    assert [catalog.find(f"{name}{SUFFIX}") for name in left] == [None] * len(left)
    tuned = hardened(catalog.get("torchtune-llama3.2-1b"))
    assert tuned.metadata.name == "torchtune-llama3.2-1b"
    assert told(pinned(tuned.to_wire())) == set()


def test_a_runtime_keeps_the_volume_at_dev_shm_that_it_has() -> None:
    wire = catalog.get("torch-distributed").to_wire()
    (pod,) = _pods(wire)
    mount = {"name": "mine", "mountPath": "/dev/shm"}
    pod["volumes"] = [{"name": "mine", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    pod["containers"][0]["volumeMounts"] = [mount]
    (made,) = _pods(hardened(ClusterTrainingRuntime.from_wire(wire)).to_wire())
    assert made["volumes"] == pod["volumes"]
    assert made["containers"][0]["volumeMounts"] == [mount]


def test_our_files_for_gitops_pass() -> None:
    found = sources.read_sources(["gitops/cluster-check/jobs", "gitops/cluster-check/check.yaml"])
    report = check.check_documents(found.documents, CheckScope(CHOSEN, date(2026, 11, 29)))
    assert report.problems == ()
    assert [
        each.rule.id for each in report.items if each.severity.is_at_least(Severity.MEDIUM)
    ] == []
