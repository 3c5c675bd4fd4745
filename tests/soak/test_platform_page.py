"""docs/platform.md from a kubeconfig to the first TrainJob that Kueue admits, on an empty cluster."""

import json
import shutil
from pathlib import Path

from tests.deploy.project import Stack
from tests.docs import page
from tests.e2e.bare_platform import bare_cluster
from tests.e2e.cluster import Namespace
from tests.e2e.test_getting_started import published
from tools import platform_stack
from tools.cluster import base_image, images, kubectl
from trainer_infra.cli import init

PAGE = page.ROOT / "docs" / "platform.md"
IN_THE_NODE = 'controllers={"image_pull_policy": "IfNotPresent"}, kueue={"visibility": False}'
"""Images are loaded into the only node, which has two cores."""


def program() -> str:
    """The first two blocks of the page as one program."""
    installs, trains = [each.text for each in page.blocks(PAGE) if each.language == "python"][:2]
    after = "    opts=pulumi.ResourceOptions(depends_on=[team]),\n    wait_for="
    return installs + trains.replace("    wait_for=", after)


def test_a_kubeconfig_and_25_lines_lead_to_an_admitted_train_job(tmp_path: Path) -> None:
    written = program()
    assert len([line for line in written.splitlines() if line.strip()]) <= 25
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: page\nruntime: python\n")
    here = written.replace(
        'TrainerPlatform("trainer")', f'TrainerPlatform("trainer", {IN_THE_NODE})'
    )
    assert here != written
    (folder / "__main__.py").write_text(here)
    shutil.copy(init.STARTER / "train.py", folder)
    with bare_cluster("soak-page", "dev", tmp_path) as bare:
        images.also_named(base_image.loaded(), f"docker.io/library/{published()}")
        stack = Stack(folder, platform_stack.environment(bare))
        stack.run("stack", "init")
        stack.run("config", "set", "trainer:target", "kubernetes")
        stack.up()
        assert stack.outputs()["accuracy"] > 0.9
        cluster = Namespace("vision", bare, kubectl.program())
        (workload,) = cluster.all("workloads")
        conditions = {each["type"]: each["status"] for each in workload["status"]["conditions"]}
        assert conditions["Admitted"] == "True", json.dumps(workload)
        stack.unchanged()
        stack.run("destroy", "--yes", "--skip-preview")
        assert stack.resources("") == []
