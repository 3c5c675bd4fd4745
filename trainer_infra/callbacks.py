"""`from trainer_infra.callbacks import HuggingFaceCallback`: progress and checkpoints of a training, by its framework.

Attributes are loaded on first use (PEP 562), so that one framework's callback imports no other framework.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_infra.in_pod.callbacks.hugging_face import HuggingFaceCallback
    from trainer_infra.in_pod.callbacks.hugging_face_checkpoint import HuggingFaceCheckpointCallback
    from trainer_infra.in_pod.callbacks.lightning import LightningCallback
    from trainer_infra.in_pod.callbacks.lightning_checkpoint import LightningCheckpointCallback
    from trainer_infra.in_pod.callbacks.loop import TrainingLoop, steps
    from trainer_infra.in_pod.callbacks.xgboost import XGBoostCallback

__all__ = [
    "HuggingFaceCallback",
    "HuggingFaceCheckpointCallback",
    "LightningCallback",
    "LightningCheckpointCallback",
    "TrainingLoop",
    "XGBoostCallback",
    "steps",
]

_HOME = {
    "HuggingFaceCallback": "hugging_face",
    "HuggingFaceCheckpointCallback": "hugging_face_checkpoint",
    "LightningCallback": "lightning",
    "LightningCheckpointCallback": "lightning_checkpoint",
    "TrainingLoop": "loop",
    "XGBoostCallback": "xgboost",
    "steps": "loop",
}


def __getattr__(name: str) -> Any:
    """Load a callback, and with it its framework, on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"trainer_infra.in_pod.callbacks.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
