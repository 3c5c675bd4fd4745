"""kubeconform v0.8.0 and kube-score v1.20.0: what checks of files are measured beside.

Both are built from their Go modules once. kubeconform compares with schemas alone: it gets those of our
CRDs as files, so that it asks no network, and refuses fields that they do not name. kube-score knows no
custom kinds: it scores Jobs with the same pods instead.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster import build
from from_source.cluster.build import Program
from trainer_infra.api import crd

KUBECONFORM: Final = Program(
    "kubeconform", "kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"
)
KUBE_SCORE: Final = Program("kube-score", "kube-score", "github.com/zegl/kube-score/cmd/kube-score")


@dataclass(frozen=True, slots=True)
class Checker:
    """A checker's command."""

    command: tuple[str, ...]
    """What files or folders are put behind."""

    def run(self, paths: Sequence[Path], objects: int) -> None:
        """Check files; ends the process unless the checker looked at so many objects."""
        command = [*self.command, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seen = _objects(json.loads(done.stdout)) if done.returncode in {0, 1} else 0
        if seen != objects:
            said = f"{done.stderr[-2000:]}{done.stdout[:2000]}"
            sys.exit(f"{self.command[0]} looked at {seen} of {objects} objects:\n{said}")


def kubeconform(folder: Path) -> Checker:
    """Kubeconform with our CRDs' schemas, as many files at once as there are processors.

    Args:
        folder: Where the schemas are written.
    """
    folder.mkdir()
    for each in crd.crd_definitions():
        spec = each["spec"]
        (version,) = spec["versions"]
        name = f"{spec['names']['kind'].lower()}_{version['name']}.json"
        (folder / name).write_text(json.dumps(closed(version["schema"]["openAPIV3Schema"])))
    schemas = f"{folder}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"
    program = _built(KUBECONFORM)
    return Checker((program, "-schema-location", schemas, "-output", "json", "-summary"))


def kube_score() -> Checker:
    """kube-score."""
    return Checker((_built(KUBE_SCORE), "score", "--output-format", "json"))


def closed(schema: Any) -> Any:
    """A schema that names all fields there may be, as an API server reads that of a CRD."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(each) for key, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def _built(program: Program) -> str:
    # Standard output is for the figures.
    with redirect_stdout(sys.stderr):
        return str(build.built(program))


def _objects(report: Any) -> int:
    """How many objects a report is about; kubeconform's has a summary."""
    if isinstance(report, dict):
        return int(report["summary"]["valid"])
    return len(report)
