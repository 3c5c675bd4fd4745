"""Rules judge queues by the pools of the same program: the real CLI, a pack, and a real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.kueue_crds import install_kueue_crds
from tests.deploy.project import Stack
from tests.platform.conftest import kubectl_on_path
from tools.cluster import apiserver

__all__ = ["kubectl_on_path"]
ROOT = Path(__file__).resolve().parents[2]
TRAINING = ("--policy-pack", str(ROOT / "policies" / "training"))
PROGRAM = """
from trainer_infra import platform

pool = platform.GpuNodePool(
    "a10", backend="existing", machine_type="g5.12xlarge", nodes={{"max": 2}}
)
platform.ClusterQueue("team", quota={{pool.flavor: {{"nvidia.com/gpu": {gpus}}}}})
"""


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with apiserver.running() as (address, file):
        install_kueue_crds(address)
        yield file


@pytest.fixture
def cluster(stack: Stack, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    return Stack(stack.folder, {**stack.env, "KUBECONFIG": str(kubeconfig)})


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_quota_over_what_a_pool_of_the_program_has_is_said_in_the_preview(cluster: Stack) -> None:
    (cluster.folder / "__main__.py").write_text(PROGRAM.format(gpus=16))
    said = cluster.run("preview", *TRAINING)
    assert "is more nvidia.com/gpu than pool a10 has" in said
    assert "write at most 8, or add machines" in said

    (cluster.folder / "__main__.py").write_text(PROGRAM.format(gpus=8))
    assert "flavor-pools" not in cluster.run("preview", *TRAINING)
