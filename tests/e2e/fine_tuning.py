"""What tests of fine-tuning share: the libraries, a tiny model with its data, and a claim that a test can read."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from from_source.cluster import python

TRAINING: Final = Path(__file__).parent / "training"
VOLUME: Final = """
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {{storage: 100Mi}}
  hostPath: {{path: {folder}}}
  storageClassName: ""
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: models}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 100Mi}}}}
  storageClassName: ""
  volumeName: {name}
"""
"""A claim whose folder the test can read."""


@pytest.fixture(scope="session")
def libraries() -> dict[str, str]:
    """Variables of a process of this machine that has the libraries."""
    return python.variables("trainers", "torch")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, libraries: dict[str, str]) -> Path:
    """A tiny model and its datasets."""
    folder = tmp_path_factory.mktemp("source")
    script(libraries, "tiny_llama.py", str(folder))
    folder.chmod(0o755)
    return folder


def script(libraries: dict[str, str], name: str, *arguments: str) -> str:
    """Run a program of training/ with the libraries; what it printed."""
    command = [sys.executable, str(TRAINING / name), *arguments]
    done = subprocess.run(
        command, env={**os.environ, **libraries}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
