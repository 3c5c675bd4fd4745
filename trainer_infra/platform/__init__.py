"""The training platform as Pulumi components: `from trainer_infra import platform`.

Attributes are loaded on first use (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_infra.platform.job_set_controller import JobSetController
    from trainer_infra.platform.kueue import Kueue
    from trainer_infra.platform.leader_worker_set_controller import LeaderWorkerSetController
    from trainer_infra.platform.trainer_control_plane import TrainerControlPlane
    from trainer_infra.platform.workspace import Workspace

__all__ = [
    "JobSetController",
    "Kueue",
    "LeaderWorkerSetController",
    "TrainerControlPlane",
    "Workspace",
]

_HOME = {
    "JobSetController": "job_set_controller",
    "Kueue": "kueue",
    "LeaderWorkerSetController": "leader_worker_set_controller",
    "TrainerControlPlane": "trainer_control_plane",
    "Workspace": "workspace",
}


def __getattr__(name: str) -> Any:
    """Load a component on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
