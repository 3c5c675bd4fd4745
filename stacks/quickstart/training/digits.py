"""The data of the quickstart: scikit-learn's handwritten digits, 8 by 8 pixels each."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np

TEST_ROWS = 360


def load(rank, ranks):
    """This process's training rows, and the test rows, which no process trains on.

    Returns images (rows, 64) as float32 in 0 to 1 and labels (rows,) as int64, of both.
    """
    # Read from the installed package's own file: importing scikit-learn takes longer than training.
    package = Path(find_spec("sklearn").origin).parent
    table = np.loadtxt(package / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    images, labels = (table[:, :-1] / 16).astype("float32"), table[:, -1].astype("int64")
    mixed = np.random.default_rng(1).permutation(len(table))
    test, training = mixed[:TEST_ROWS], sorted(mixed[TEST_ROWS:])
    rows = training[: len(training) // ranks * ranks][rank::ranks]
    listed = ",".join(map(str, rows))
    digest = hashlib.sha256(listed.encode()).hexdigest()
    print(f"rank {rank} saw {len(rows)} rows sha256:{digest}\nrows: {listed}", flush=True)
    return (images[rows], labels[rows]), (images[test], labels[test])
