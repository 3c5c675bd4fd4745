"""Rules judge queues by the pools of the same program: the real CLI, a pack, and a real API server."""

from pathlib import Path

import pytest

from tests.deploy.project import Stack

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ("--policy-pack", str(ROOT / "policies" / "training"))
PROGRAM = """
from trainer_infra import platform

pool = platform.GpuNodePool(
    "a10", backend="existing", machine_type="g5.12xlarge", nodes={{"max": 2}}
)
platform.ClusterQueue("team", quota={{pool.flavor: {{"nvidia.com/gpu": {gpus}}}}})
"""


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_quota_over_what_a_pool_of_the_program_has_is_said_in_the_preview(
    queue_cluster: Stack,
) -> None:
    (queue_cluster.folder / "__main__.py").write_text(PROGRAM.format(gpus=16))
    said = queue_cluster.run("preview", *TRAINING)
    assert "is more nvidia.com/gpu than pool a10 has" in said
    assert "write at most 8, or add machines" in said

    (queue_cluster.folder / "__main__.py").write_text(PROGRAM.format(gpus=8))
    assert "flavor-pools" not in queue_cluster.run("preview", *TRAINING)
