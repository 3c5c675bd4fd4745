"""The training platform as Pulumi components: `from trainer_infra import platform`.

Attributes are loaded on first use (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_infra.platform.coscheduling import Coscheduling
    from trainer_infra.platform.job_set_controller import JobSetController
    from trainer_infra.platform.kai import Kai
    from trainer_infra.platform.kueue import Kueue
    from trainer_infra.platform.leader_worker_set_controller import LeaderWorkerSetController
    from trainer_infra.platform.trainer_control_plane import TrainerControlPlane
    from trainer_infra.platform.volcano import Volcano
    from trainer_infra.platform.yunikorn import Yunikorn

__all__ = [
    "Coscheduling",
    "JobSetController",
    "Kai",
    "Kueue",
    "LeaderWorkerSetController",
    "TrainerControlPlane",
    "Volcano",
    "Yunikorn",
]

_HOME = {
    "Coscheduling": "coscheduling",
    "JobSetController": "job_set_controller",
    "Kai": "kai",
    "Kueue": "kueue",
    "LeaderWorkerSetController": "leader_worker_set_controller",
    "TrainerControlPlane": "trainer_control_plane",
    "Volcano": "volcano",
    "Yunikorn": "yunikorn",
}


def __getattr__(name: str) -> Any:
    """Load a component on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
