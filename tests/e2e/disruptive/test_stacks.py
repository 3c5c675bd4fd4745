"""From nothing to a trained model and back: stacks/platform and stacks/team on a bare cluster of their own.

LeaderWorkerSet and coscheduling, which no image of CI has, are installed by
tests/soak/test_full_platform.py.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from from_source.cluster import base_image, helm, kubectl, kueue, python
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.bare_platform import CONTROLLERS, Platform, bare_cluster
from tests.e2e.cluster import Namespace
from tools import platform_stack, schemas

ROOT = Path(__file__).resolve().parents[3]
LITTLE = {"requests": {"cpu": "100m", "memory": "64Mi"}}
"""No limits: a tenth of a processor would import a framework for a minute."""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with bare_cluster("stacks", "dev", tmp_path_factory.mktemp("scratch")) as made:
        yield made


@pytest.fixture(scope="module")
def plane(bare: Path) -> Platform:
    """The platform, whose first `up` was killed when JobSet's controller was about to start."""
    made = Platform(dict(os.environ), Namespace("default", bare, kubectl.program()))
    made.kill_in_up("deployments", CONTROLLERS["jobset-system"])
    made.run("up")
    return made


@pytest.fixture(scope="module")
def team(plane: Platform, bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The team's stack, on runtimes as this cluster can run them."""
    assert plane.kinds()
    folder = tmp_path_factory.mktemp("stacks")
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    made = Stack(folder / "stacks" / "team", platform_stack.environment(bare), "vision")
    settings = yaml.safe_load((made.folder / "Pulumi.vision.yaml").read_text())
    settings["config"]["team:workspace"]["pod_security"] = "privileged"
    settings["config"] |= {
        "trainer:kubeconfig": str(bare),
        "team:image": base_image.NAME,
        "team:epochs": 15,
        "team:env": {"PYTHONPATH": runtimes.PACKAGES},
        "team:resources": LITTLE,
        "team:patches": [packages_patch()],
    }
    (made.folder / "Pulumi.vision.yaml").write_text(yaml.safe_dump(settings))
    made.run("stack", "init")
    return made


def packages_patch() -> dict[str, Any]:
    """What mounts the packages of the framework, which a team's image would have."""
    container = {
        "name": "node",
        "volumeMounts": [{"name": "packages", "mountPath": runtimes.PACKAGES}],
    }
    folder = {"path": str(python.environment("jax"))}
    pods = {"containers": [container], "volumes": [{"name": "packages", "hostPath": folder}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pods}}}}
    runtime = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {"manager": "example.com/cluster", "trainingRuntimeSpec": runtime}


ADOPTING = """
import pulumi
from trainer_infra import platform

charts = {charts!r}
jobset = platform.HelmChart(charts["jobset"][0], "jobset", "jobset-system", values=charts["jobset"][1])
kueue = platform.HelmChart(charts["kueue"][0], "kueue", "kueue-system", values=charts["kueue"][1])
platform.JobSetController("jobset", manifests=jobset, adopt=True)
platform.Kueue("kueue", manifests=kueue, adopt=True)
"""


def charts() -> dict[str, tuple[str, dict[str, Any]]]:
    """The published charts with values that name the images of this cluster."""
    jobset_image, kueue_image = (
        dict(zip(("repository", "tag"), each.rsplit(":", 1), strict=True))
        for each in (platform_stack.JOBSET_IMAGE, kueue.IMAGE)
    )
    pull = {"pullPolicy": "IfNotPresent"}
    return {
        "jobset": (
            str(schemas.module_folder("sigs.k8s.io/jobset", "v0.12.0") / "charts" / "jobset"),
            {"image": jobset_image | pull},
        ),
        "kueue": (
            str(schemas.module_folder(*kueue.MODULE) / "charts" / "kueue"),
            {"controllerManager": {"manager": {"image": kueue_image | pull}}},
        ),
    }


@pytest.mark.soak
def test_what_helm_installed_is_adopted_without_a_difference(bare: Path, tmp_path: Path) -> None:
    cluster = Namespace("default", bare, kubectl.program())
    for name, (chart, values) in charts().items():
        command = [helm.program(), "install", name, chart, "--namespace", f"{name}-system"]
        subprocess.run(
            [*command, "--create-namespace", "--kubeconfig", bare, "--wait", "--values", "-"],
            input=json.dumps(values), text=True, check=True, capture_output=True,
        )  # fmt: skip
    pods = cluster.kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].metadata.uid}")
    (tmp_path / "Pulumi.yaml").write_text("name: adopting\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(ADOPTING.format(charts=charts()))
    stack = Stack(tmp_path, platform_stack.environment(bare))
    stack.run("stack", "init")

    printed = stack.run("up", "--yes", "--skip-preview")
    assert " imported" in printed
    assert " updated" not in printed
    stack.unchanged()
    after = cluster.kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].metadata.uid}")
    assert after == pods

    stack.run("destroy", "--yes", "--skip-preview")
    left = cluster.kubectl("get", "customresourcedefinitions,namespaces", "-o", "name")
    assert not [each for each in left.split() if "jobset" in each or "kueue" in each]


def test_a_killed_up_is_repeated_and_then_nothing_changes(plane: Platform) -> None:
    assert all(len(each) == 1 for each in plane.pods().values())
    assert len(plane.kinds()) > 10
    printed = plane.run("preview", "--expect-no-changes")
    assert "unchanged" in printed


@pytest.mark.parametrize(
    ("engine", "queued"),
    [pytest.param("provider", "JobSet", marks=pytest.mark.soak), ("controller", "TrainJob")],
)
def test_a_team_trains_in_its_queue(engine: str, queued: str, plane: Platform, team: Stack) -> None:
    team.run("config", "set", "trainer:engine", engine)
    team.up()
    assert team.outputs()["accuracy"] > 0.9
    listed = plane.cluster.kubectl("get", "workloads", "-n", "vision", "-o", "json")
    (workload,) = json.loads(listed)["items"]
    conditions = {each["type"]: each["status"] for each in workload["status"]["conditions"]}
    assert {each["kind"] for each in workload["metadata"]["ownerReferences"]} == {queued}
    assert workload["spec"]["queueName"] == "default"
    assert workload["spec"]["priorityClassRef"]["name"] == "normal"
    assert conditions["Admitted"] == conditions["Finished"] == "True"
    team.unchanged()


def test_a_quota_of_a_flavor_that_the_platform_does_not_have_is_refused_in_preview(
    team: Stack,
) -> None:
    file = team.folder / "Pulumi.vision.yaml"
    before = file.read_text()
    file.write_text(before.replace("quota:", "flavor: h100\n    quota:"))
    printed = team.preview(ok=False)
    file.write_text(before)
    assert "names a flavor that the platform does not have, got 'h100'" in printed
    assert "Traceback" not in printed


def test_a_platform_in_use_is_not_destroyed_and_with_allow_destroy_nothing_is_left(
    plane: Platform, team: Stack
) -> None:
    before = plane.pods()
    team.up()
    printed = plane.run("destroy", ok=False)
    assert "1 TrainJob (vision/digits-" in printed
    assert "1 JobSet (vision/digits-" in printed
    assert "1 ClusterQueue (vision)" in printed
    assert "pulumi config set trainer:allowDestroy true" in printed
    assert plane.pods() == before

    plane.run("destroy", "--allow-destroy")
    assert plane.kinds() == []
    namespaces = plane.cluster.kubectl("get", "namespaces", "-o", "name")
    assert not any(f"namespace/{each}\n" in namespaces for each in CONTROLLERS)
