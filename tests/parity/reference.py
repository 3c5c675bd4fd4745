"""The reference's own Go code, built once and run on batches of cases.

`run` is for every test that wants to know what Kubeflow Trainer v2.3.0 does. The program is
tests/parity/reference/main.go; its binary is kept in the cache folder under a
hash of its sources, so a second run starts at once.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from from_source.cluster import build
from from_source.cluster.build import Program
from tests.parity import kept_answers

JSON = dict[str, Any]

SOURCES = Path(__file__).parent / "reference"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
"""When every case happens."""
PROGRAM = Program("parity", str(SOURCES), ".")
"""What is built."""
MODULE = "github.com/kubeflow/trainer/v2"
NO_GO = (
    "the parity tests run the reference's Go code and found no `go` on PATH; "
    "install Go, or leave tests/parity out of this run"
)


@dataclass(frozen=True, slots=True)
class Case:
    """One TrainJob on one runtime; API defaults are applied."""

    train_job: JSON
    runtime: JSON
    old_train_job: JSON | None = None
    """The TrainJob before the update; None for a create."""
    existing: tuple[JSON, ...] = ()
    """Objects that the API server has besides the runtime."""
    feature_gate: bool = False
    """Whether the alpha gate TrainJobStatus is on."""

    def to_wire(self) -> JSON:
        """The case as main.go reads it."""
        return {
            "trainJob": self.train_job,
            "oldTrainJob": self.old_train_job,
            "runtime": self.runtime,
            "existing": list(self.existing),
            "featureGate": self.feature_gate,
            "now": int(NOW.timestamp()),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the reference made of a case."""

    runtime_errors: list[JSON] = field(default_factory=list)
    """What the runtime's webhook refuses: type, field, detail, badValue."""
    errors: list[JSON] = field(default_factory=list)
    """What the TrainJob's webhook refuses."""
    warnings: list[str] = field(default_factory=list)
    objects: list[JSON] = field(default_factory=list)
    """The objects that a reconciliation applies; made even where there are errors."""
    build_error: str = ""
    """Why the reconciliation failed; empty when it did not."""
    status: JSON | None = None
    """Status of the TrainJob, from the JobSet among the existing objects."""
    status_error: str = ""
    patch_times: list[str] = field(default_factory=list)
    """Times of the runtimePatches after the mutating webhook."""
    panic: str = ""
    """The reference crashed; nothing else of the outcome means anything then."""


def run(cases: Sequence[Case], repeat: int = 1) -> list[list[Outcome]]:
    """What the reference makes of each case, in one process; what it made of them before is kept.

    The reference calls its plugins in random order, so a case may have several outcomes:
    `repeat` is how often each is run, and equal outcomes are given once.
    """
    lines = "".join(json.dumps({**case.to_wire(), "repeat": repeat}) + "\n" for case in cases)
    folder = binary().with_name(f"{binary().name}-answers")
    printed = kept_answers.kept_answer(folder, lines, lambda: _printed(lines))
    return [[_outcome(each) for each in json.loads(line)] for line in printed.splitlines()]


def _printed(lines: str) -> str:
    done = subprocess.run([binary()], input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the reference program failed: {done.stderr}")
    return done.stdout


def _outcome(value: JSON) -> Outcome:
    return Outcome(
        runtime_errors=value["runtimeErrors"] or [],
        errors=value["errors"] or [],
        warnings=value["warnings"] or [],
        objects=value["objects"] or [],
        build_error=value["buildError"],
        status=value["status"],
        status_error=value["statusError"],
        patch_times=value["patchTimes"] or [],
        panic=value["panic"],
    )


@cache
def binary() -> Path:
    """The program, built if there is none for these sources."""
    return build.built(PROGRAM)


@cache
def module() -> Path:
    """The folder of the reference's published module: its sources and manifests."""
    _go("mod", "download", MODULE)
    return Path(_go("list", "-m", "-f", "{{.Dir}}", MODULE).strip())


def _go(*arguments: str) -> str:
    build.must_be_allowed(MODULE)
    if shutil.which("go") is None:
        raise RuntimeError(NO_GO)
    env = os.environ | build.GO_ENVIRONMENT
    command = ["go", *arguments]
    done = subprocess.run(
        command, cwd=SOURCES, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stderr}")
    return done.stdout
