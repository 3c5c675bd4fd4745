"""kubectl: the one on PATH, else v1.34.4 built from Go modules."""

import functools
import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from from_source.cluster import build, kubernetes
from trainer_infra.errors import NotAvailable

KUBECTL: Final = kubernetes.program("kubectl")
"""What is built where no kubectl is on PATH."""


def program() -> str:
    """Its file.

    Raises:
        NotAvailable: There is none and it cannot be built.
    """
    return build.found(KUBECTL)


def run(*arguments: str, given: str = "") -> str:
    """What a command prints; `given` is what it reads.

    Raises:
        NotAvailable: It fails; with what it said.
    """
    command = [program(), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip()
        raise NotAvailable(f"`kubectl {' '.join(arguments)}` failed: {said}")
    return done.stdout


@functools.cache
def kustomized(folder: Path) -> str:
    """The manifests of a kustomization: a process may install and remove them again and again.

    Raises:
        NotAvailable: There is no kubectl, or it cannot read them.
    """
    return run("kustomize", str(folder))


def apply(kubeconfig: Path, objects: Iterable[Mapping[str, Any]]) -> None:
    """Create objects, or make them as they should be.

    Raises:
        NotAvailable: The cluster refuses one.
    """
    items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    where = ("--kubeconfig", str(kubeconfig))
    forced = ("--server-side", "--force-conflicts", "--filename", "-")
    run(*where, "apply", *forced, given=json.dumps(items))
