"""Write `golden/*.json`: what the real CLI makes of each scenario, never the engine for tests.

    .venv/bin/python -m tests.contract.engine.write_golden [scenario ...]

Then read the difference.
"""

import os
import sys
from pathlib import Path

import pytest

from tests.contract.engine.conftest import WRITES
from tests.kept_passes import AGAIN


def main() -> int:
    """Write those that are named, else all."""
    os.environ |= {WRITES: "1", AGAIN: "1"}
    chosen = " or ".join(f"test_{each}" for each in sys.argv[1:])
    only = f"cli and ({chosen})" if chosen else "cli"
    return pytest.main([str(Path(__file__).parent), "-k", only, "-n", "2", "-q"])


if __name__ == "__main__":
    sys.exit(main())
