"""`from trainer_infra.report import report`: how a training function says how far it is."""

from trainer_infra.in_pod.report import report

__all__ = ["report"]
