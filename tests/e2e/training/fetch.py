"""What the initializers run: puts the data, or weights to start from, into a shared folder."""

# mypy: disable-error-code="import-not-found"

import os
import shutil
import sys
from pathlib import Path

import digits
import numpy as np


def main(folder: Path) -> None:
    """Fetch what STORAGE_URI names: `digits://` or `random://<seed>`."""
    kind, _, which = os.environ["STORAGE_URI"].partition("://")
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "digits":
        shutil.copy(digits.installed(), folder / "digits.csv.gz")
    else:
        np.save(folder / "weights.npy", np.random.default_rng(int(which)).normal(0, 0.1, (65, 10)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
