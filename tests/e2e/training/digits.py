"""The data: scikit-learn's handwritten digits, split so that no rank can learn them alone."""

# mypy: disable-error-code="import-not-found,no-any-return"

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

TEST_ROWS = 360

Rows = tuple[Any, Any]
"""Images (rows, 64) as float32 in 0 to 1, and labels (rows,) as int64."""


def load(rank: int, ranks: int, file: Path | None = None) -> tuple[Rows, Rows]:
    """This rank's training rows, and the test rows, on which no rank trains.

    A rank has only the digits d with d % ranks == rank: without the gradients of the others it
    never learns theirs, so an accuracy above 0.9 shows that they arrived.
    """
    with gzip.open(file or installed()) as text:
        table = np.loadtxt(text, delimiter=",")
    images, labels = (table[:, :-1] / 16).astype("float32"), table[:, -1].astype("int64")
    mixed = np.random.default_rng(1).permutation(len(table))
    test, training = mixed[:TEST_ROWS], mixed[TEST_ROWS:]
    rows = training[labels[training] % ranks == rank]
    return (images[rows], labels[rows]), (images[test], labels[test])


def installed() -> Path:
    """The file in the installed package, whose import takes longer than training."""
    found = find_spec("sklearn")
    if found is None or found.origin is None:
        raise FileNotFoundError("scikit-learn, which ships the digits, is not installed here")
    return Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz"
