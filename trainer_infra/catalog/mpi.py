"""deepspeed-distributed and mlx-distributed: a launcher that starts processes on nodes over SSH.

Facts: reference behaviour 8.1. The launcher is a node itself, starts when the nodes'
SSH servers answer, and its end is the end of the run.
"""

from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import MPI, MLPolicy, TrainingRuntimeSpec
from trainer_infra.catalog import shipped_runtime
from trainer_infra.catalog.shipped_runtime import IMAGES, TAG, ShippedRuntime

HOME: Final = "/home/mpiuser"
USER: Final = 1000
"""The user of both images, and the group of the volumes."""
SSH_PORT: Final = 2222


def _spec(image: str) -> TrainingRuntimeSpec:
    policy = MPI(
        num_proc_per_node=1,
        mpi_implementation="OpenMPI",
        ssh_auth_mount_path=f"{HOME}/.ssh",
        run_launcher_as_node=True,
    )
    server = {
        "command": ["/usr/sbin/sshd"],
        "args": ["-De", "-f", f"{HOME}/.sshd_config"],
        "readinessProbe": {"tcpSocket": {"port": SSH_PORT}, "initialDelaySeconds": 5},
    }
    launcher = _job(names.LAUNCHER, image, names.TRAINER)
    return shipped_runtime.runtime_spec(
        MLPolicy(num_nodes=1, mpi=policy),
        _job(names.NODE, image, None, **server),
        shipped_runtime.depends_on(launcher, "Ready", names.NODE),
        network={"publishNotReadyAddresses": True},
        successPolicy={"operator": "All", "targetReplicatedJobs": [names.LAUNCHER]},
    )


def _job(name: str, image: str, ancestor: str | None, **container: Any) -> dict[str, Any]:
    security = {"securityContext": {"runAsUser": USER}}
    node = {"name": names.NODE, "image": image, **security, **container}
    return shipped_runtime.replicated_job(name, node, ancestor, securityContext={"fsGroup": USER})


DEEPSPEED_DISTRIBUTED: Final = ShippedRuntime(
    "deepspeed-distributed",
    "deepspeed",
    "DeepSpeed on GPU nodes, started by mpirun",
    lambda: _spec(f"{IMAGES}/deepspeed-runtime:{TAG}"),
)

MLX_DISTRIBUTED: Final = ShippedRuntime(
    "mlx-distributed",
    "mlx",
    "MLX with its CUDA backend, started by mpirun",
    lambda: _spec(f"{IMAGES}/mlx-runtime:{TAG}"),
)
