"""stacks/platform as a preview on an empty cluster: from its folder, from the root, and under policy."""

import shutil
import sys
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.deploy.project import Stack

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    shutil.copytree(ROOT / "stacks" / "platform", folder / "stacks" / "platform")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def previewed(folder: Path, env: dict[str, str], api_server: RunningServer, *more: str) -> str:
    stack = Stack(folder, {**env, "KUBECONFIG": str(api_server.kubeconfig)}, "dev")
    stack.run("stack", "init")
    return stack.run("preview", *more)


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("folder", [".", pytest.param("stacks/platform", marks=pytest.mark.soak)])
def test_it_is_previewed_from_the_root_and_from_its_folder(
    folder: str, checkout: Path, pulumi_env: dict[str, str], api_server: RunningServer
) -> None:
    # As a user has it whose virtual environment is activated.
    shown = previewed(checkout / folder, pulumi_env, api_server)
    assert "trainer:index:TrainerPlatform" in shown
    assert "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime" in shown
    assert "image_pull_policy" not in shown
    # This stack's image is loaded into the nodes; a program that says nothing of it gets a warning.
    assert "no registry has" not in shown


@pytest.mark.soak
@pytest.mark.usefixtures("kubectl_on_path")
def test_the_training_pack_judges_the_platform_and_does_not_stop_it(
    checkout: Path, pulumi_env: dict[str, str], api_server: RunningServer
) -> None:
    program, pack = checkout / "stacks" / "platform", ROOT / "policies" / "training"
    shown = previewed(program, pulumi_env, api_server, "--policy-pack", str(pack))
    assert "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime" in shown
    assert "[advisory]" in shown
    assert "mandatory" not in shown
