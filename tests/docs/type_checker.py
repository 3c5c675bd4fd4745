"""What mypy says of Python that readers copy."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.page import ROOT


def type_errors(folder: Path, *arguments: str) -> str:
    """What the type checker finds, its cache kept; empty where all is right."""
    cache = ROOT / ".mypy_cache" / "docs"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *arguments],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""
