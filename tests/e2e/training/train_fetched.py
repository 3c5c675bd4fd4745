"""One node, which trains from what the initializers left in the shared folder."""

# mypy: disable-error-code="import-not-found"

import sys
from pathlib import Path

import digits
import numpy as np
import outcome
import softmax


def main(folder: Path) -> None:
    """Train on the fetched rows, from the fetched weights."""
    training, test = digits.load(0, 1, folder / "dataset" / "digits.csv.gz")
    start = np.load(folder / "model" / "weights.npy")
    weights = softmax.trained(*training, summed=lambda value: value, start=start)
    outcome.judge(softmax.accuracy(weights, *test), ranks=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
