"""stacks/platform as a preview on an empty cluster: from its folder, from the root, and under policy."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.kube import real_server
from tests.platform.conftest import kubectl_on_path

__all__ = ["kubectl_on_path"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[real_server.RealServer]:
    with real_server.running() as running:
        yield running


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "stacks" / "platform", folder / "stacks" / "platform")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def previewed(folder: Path, env: dict[str, str], server: real_server.RealServer, *more: str) -> str:
    stack = Stack(folder, {**env, "KUBECONFIG": str(server.kubeconfig)}, "dev")
    stack.run("stack", "init")
    return stack.run("preview", *more)


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("folder", [".", pytest.param("stacks/platform", marks=pytest.mark.soak)])
def test_it_is_previewed_from_the_root_and_from_its_folder(
    folder: str, checkout: Path, pulumi_env: dict[str, str], server: real_server.RealServer
) -> None:
    # As a user has it whose virtual environment is activated.
    shown = previewed(checkout / folder, pulumi_env, server)
    assert "trainer:index:TrainerPlatform" in shown
    assert "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime" in shown
    assert "image_pull_policy" not in shown
    # This stack's image is loaded into the nodes; a program that says nothing of it gets a warning.
    assert "no registry has" not in shown


@pytest.mark.soak
@pytest.mark.usefixtures("kubectl_on_path")
def test_the_training_pack_judges_the_platform_and_does_not_stop_it(
    checkout: Path, pulumi_env: dict[str, str], server: real_server.RealServer
) -> None:
    program, pack = checkout / "stacks" / "platform", ROOT / "policies" / "training"
    shown = previewed(program, pulumi_env, server, "--policy-pack", str(pack))
    assert "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime" in shown
    assert "[advisory]" in shown
    assert "mandatory" not in shown
