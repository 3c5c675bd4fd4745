"""`from trainer_infra.storage import mounted, output`: where a training function finds its files."""

from trainer_infra.in_pod.storage import mounted, output

__all__ = ["mounted", "output"]
