"""`from trainer_infra.checkpoint import Checkpointer`: how a training function is saved, and goes on."""

from trainer_infra.in_pod.checkpoints.checkpointer import Checkpointer

__all__ = ["Checkpointer"]
