"""What mypy says of Python that readers copy."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.page import ROOT


def type_errors(folder: Path) -> str:
    """What the type checker finds in the programs of a folder; empty where all is right.

    It begins where `make lint` does and with its settings, and so with what that found out: the package
    and what it imports take half a minute otherwise.
    """
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *sorted(map(str, folder.glob("*.py")))],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": f"{ROOT}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""
