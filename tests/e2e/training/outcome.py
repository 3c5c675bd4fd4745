"""What every training ends with: its accuracy reported, and an error when it is too low."""

import sys

from trainer_infra.report import report

NEEDED = 0.9


def judge(accuracy: float, ranks: int) -> None:
    """Report the accuracy on held-out digits; exit with an error unless it is above 0.9.

    Args:
        accuracy: of 0 to 1.
        ranks: how many trained together, as the framework says.
    """
    report(100, accuracy=round(float(accuracy), 4), ranks=ranks)
    if not accuracy > NEEDED:
        sys.exit(f"the accuracy {accuracy:.4f} on held-out digits is not above {NEEDED}")
