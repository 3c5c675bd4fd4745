"""docs/platform.md and docs/gpu-node-pools.md from a kubeconfig to the first TrainJob that Kueue admits.

Each on an empty cluster; its only node says that it is a machine of the pool.
"""

import json
import shutil
from pathlib import Path

import pytest

from from_source.cluster import kubectl, published_image
from tests.deploy.project import Stack
from tests.docs.pool_program import code_lines, platform_blocks, pool_block
from tests.e2e.bare_platform import bare_cluster
from tests.e2e.cluster import Namespace
from tools import platform_stack
from trainer_infra.cli import init

IN_THE_NODE = 'controllers={"image_pull_policy": "IfNotPresent"}, kueue={"visibility": False}'
"""Images are loaded into the only node, which has two cores."""


def program(installs: str, trainer: str = "") -> str:
    """What installs and the job of the page as one program.

    Args:
        installs: the block that installs.
        trainer: further arguments of the job's trainer.
    """
    trains = platform_blocks()[1]
    after = "    opts=pulumi.ResourceOptions(depends_on=[team]),\n    wait_for="
    return installs + trains.replace("    wait_for=", after).replace("0.01})", f"0.01}}{trainer})")


def becomes_a_gpu_machine(cluster: Namespace) -> None:
    """The node says what AWS and the device plugin say of a machine."""
    (node,) = cluster.names("nodes")
    layers = (f"topology.k8s.aws/network-node-layer-{each}=nn-{each}" for each in (1, 2, 3))
    cluster.kubectl("label", "node", node, "node.kubernetes.io/instance-type=p5.48xlarge", *layers)
    has = {"status": {"capacity": {"nvidia.com/gpu": "8"}}}
    cluster.kubectl("patch", "node", node, "--subresource=status", "-p", json.dumps(has))


PROGRAMS = {
    "platform": program(platform_blocks()[0]),
    "pool": program(pool_block("existing"), ', resources_per_node={"nvidia.com/gpu": 8}'),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kubeconfig_and_a_page_lead_to_an_admitted_train_job(name: str, tmp_path: Path) -> None:
    shown = PROGRAMS[name]
    assert len(code_lines(shown)) <= (25 if name == "platform" else 35)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: page\nruntime: python\n")
    here = shown.replace('TrainerPlatform("trainer"', f'TrainerPlatform("trainer", {IN_THE_NODE}')
    assert here != shown
    (folder / "__main__.py").write_text(here)
    shutil.copy(init.STARTER / "train.py", folder)
    with bare_cluster("soak-page", "dev", tmp_path) as bare:
        cluster = Namespace("vision", bare, kubectl.program())
        if name == "pool":
            becomes_a_gpu_machine(cluster)
        published_image.loaded("plain-distributed")
        stack = Stack(folder, platform_stack.environment(bare))
        stack.run("stack", "init")
        stack.run("config", "set", "trainer:target", "kubernetes")
        stack.up()
        assert stack.outputs()["accuracy"] > 0.9
        (workload,) = cluster.all("workloads")
        conditions = {each["type"]: each["status"] for each in workload["status"]["conditions"]}
        assert conditions["Admitted"] == "True", json.dumps(workload)
        (given,) = workload["status"]["admission"]["podSetAssignments"]
        assert name == "platform" or given["flavors"]["nvidia.com/gpu"] == "h100"
        stack.unchanged()
        stack.run("destroy", "--yes", "--skip-preview")
        assert stack.resources("") == []
