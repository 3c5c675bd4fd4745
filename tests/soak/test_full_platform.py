"""Platforms whose parts CI has no images of: with coscheduling and LeaderWorkerSet, and with Volcano.

Killed at several points of its first `up` and repeated, unchanged, and gone again; and Trainer's release
before the present one, upgraded under a TrainJob that runs.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import busybox, images, kubectl, trainer
from tests.deploy.project import Stack
from tests.e2e.bare_platform import Platform, bare_cluster
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from tests.e2e.plain_train_job import post_train_job
from tools import platform_stack

KILLED_AT = {
    "full": (
        ("namespaces", "jobset-system"),
        ("customresourcedefinitions", "trainjobs.trainer.kubeflow.org"),
        ("deployments", "kubeflow-trainer-controller-manager"),
        ("deployments", "kueue-controller-manager"),
        ("clustertrainingruntimes", "torch-distributed"),
    ),
    "volcano": (("jobs", "volcano-admission-init"), ("deployments", "volcano-scheduler")),
}
"""By stack: objects that are there when an `up` is killed, one `up` after the other."""
DEPLOYMENTS = {
    "full": {"scheduler-plugins-scheduler", "scheduler-plugins-controller", "lws-controller-manager",
             "kueue-controller-manager", "kubeflow-trainer-controller-manager"},
    "volcano": {"volcano-scheduler", "volcano-controllers", "volcano-admission",
                "kubeflow-trainer-controller-manager"},
}  # fmt: skip


@pytest.fixture(params=KILLED_AT)
def plane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Platform]:
    stack = request.param
    with bare_cluster(f"soak-{stack}", stack, tmp_path) as bare:
        yield Platform(dict(os.environ), Namespace("default", bare, kubectl.program()), stack)


def test_an_up_that_is_killed_again_and_again_converges_and_is_taken_away(plane: Platform) -> None:
    for kind, name in KILLED_AT[plane.stack]:
        plane.kill_in_up(kind, name)
    plane.run("up")
    plane.run("preview", "--expect-no-changes")
    names = "jsonpath={.items[*].metadata.name}"
    deployments = plane.cluster.kubectl("get", "deployments", "-A", "-o", names)
    assert DEPLOYMENTS[plane.stack] <= set(deployments.split())
    plane.run("destroy")
    kinds = "customresourcedefinitions,namespaces,leases,clusterroles,clusterrolebindings"
    left = plane.cluster.kubectl("get", kinds, "-A", "-o", "name")
    named = (
        "sched-plugins",
        "jobset",
        "kueue",
        "kubeflow",
        "volcano",
        "scheduling",
        "leaderworkerset",
        "lws",
    )
    assert not [each for each in left.split() if any(part in each for part in named)]


PROGRAM = """
from trainer_infra import platform

here = {{"image_pull_policy": "IfNotPresent", "resources": {{"requests": {{"cpu": "20m"}}}}}}
platform.TrainerPlatform(
    "trainer", controllers=here, kueue={{"visibility": False}}, trainer={{"version": "{version}", "implementation": "upstream"}}
)
"""


def test_an_upgrade_of_trainer_is_in_place_under_a_running_train_job(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: upgraded\nruntime: python\n")
    with bare_cluster("soak-upgrade", "dev", tmp_path) as bare:
        images.loaded(trainer.IMAGE, trainer.archive())
        images.loaded(trainer.IMAGE_BEFORE, trainer.archive_before())
        busybox.loaded()
        cluster = Namespace("default", bare, kubectl.program())
        stack = Stack(project, platform_stack.environment(bare))
        stack.run("stack", "init")
        write(project, "2.2.1")
        stack.up()
        post_train_job(cluster, "runs", "sleep 600")
        (pod,) = eventually(lambda: cluster.names("pods"))
        (job,) = cluster.all("trainjobs")

        write(project, "2.3.0")
        printed = stack.up()
        assert not re.search(r"\d replaced", printed)
        image = "jsonpath={.items[*].spec.containers[*].image}"
        assert trainer.IMAGE in cluster.kubectl("get", "pods", "-n", "kubeflow-system", "-o", image)
        assert cluster.names("pods") == [pod]
        assert [each["metadata"]["uid"] for each in cluster.all("trainjobs")] == [
            job["metadata"]["uid"]
        ]
        stack.unchanged()

        stack.run("config", "set", "trainer:allowDestroy", "true")
        stack.run("destroy", "--yes", "--skip-preview")
        assert stack.resources("") == []


def write(project: Path, version: str) -> None:
    (project / "__main__.py").write_text(PROGRAM.format(version=version))
