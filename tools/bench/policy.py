"""What policy costs, as JSON; run by `make bench-policy`.

Checks of one file and of 5,000, by `trainer-infra check`, and by kubeconform and kube-score beside it
(`other_checkers`), as whole processes one after the other; and what a pack adds to Pulumi (`policy_packs`).
Medians of the rounds. Processor seconds are of all processes of a check: what else the machine does changes
them less than wall times.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tools.bench import other_checkers, policy_files, policy_packs, project

FILES: Final = 5_000
OBJECTS: Final = 2
"""Objects of each file."""
OURS: Final = "trainer-infra"
AIMS: Final = {
    f"{OURS}: one file, seconds": 0.3,
    f"{OURS}: files per second, of {FILES}": 1500,
    "up of TrainJobs: our pack's process for each, CPU milliseconds": 2,
}
NOTES: Final = {
    OURS: f"{OBJECTS} objects a file, a TrainJob and its TrainingRuntime; one file in ten has mistakes",
    f"{OURS}, ten findings a file": "one object a file, a TrainJob on a runtime of the catalog",
    "kubeconform": "the same files as trainer-infra, schemas of our CRDs as local files",
    "kube-score": f"it knows no TrainJobs: {OBJECTS} Jobs of Kubernetes a file, with the same pods",
}
"""What each of the checkers was measured on."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """Files, and what checks them."""

    folder: Path
    check: Callable[[list[Path], int], None]
    """Gets files or folders, and how many of the files there are."""
    takes_folders: bool = True


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each measurement")
    parser.add_argument("--only", choices=MEASUREMENTS, help="one of the measurements")
    arguments = parser.parse_args()
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in [arguments.only] if arguments.only else MEASUREMENTS:
            measured |= MEASUREMENTS[name](Path(scratch), arguments.rounds)
    aims = {what: aim for what, aim in AIMS.items() if what in measured}
    report = {"unit": "median", "rounds": arguments.rounds, "measured": measured, "aims": aims}
    print(json.dumps(report | {"files": NOTES}, indent=2))


def _checks(scratch: Path, rounds: int) -> dict[str, float]:
    """Checks of files."""
    checked = _checked(scratch)
    found: dict[str, list[project.Took]] = {}
    for _ in range(rounds):
        # One after the other: what else the machine does should cost all of them the same.
        for name, each in checked.items():
            one = [policy_files.file_of(each.folder, 1)]
            all_files = [each.folder] if each.takes_folders else sorted(each.folder.rglob("*.yaml"))
            for what, paths, count in (("one file", one, 1), (f"{FILES} files", all_files, FILES)):
                took = project.measured(partial(each.check, paths, count))
                found.setdefault(f"{name}: {what}", []).append(took)
    measured: dict[str, float] = {}
    for what, every in found.items():
        wall = statistics.median(each.wall for each in every)
        measured[f"{what}, seconds"] = round(wall, 3)
        processor = statistics.median(each.processor for each in every)
        measured[f"{what}, CPU seconds"] = round(processor, 3)
    for name in checked:
        seconds = measured[f"{name}: {FILES} files, seconds"]
        measured[f"{name}: files per second, of {FILES}"] = round(FILES / seconds)
    return measured


def _checked(scratch: Path) -> dict[str, _Checked]:
    """The checkers by name, each with its files."""
    kubeconform = other_checkers.kubeconform(scratch / "schemas")
    kube_score = other_checkers.kube_score()
    write = policy_files.write_files
    mixed = write(scratch / "mixed", FILES, policy_files.runtime_and_job)
    found = write(scratch / "shipped", FILES, policy_files.job_on_shipped_runtime)
    jobs = write(scratch / "jobs", FILES, policy_files.two_jobs)
    return {
        OURS: _Checked(mixed, _check),
        f"{OURS}, ten findings a file": _Checked(found, _check),
        "kubeconform": _Checked(mixed, lambda paths, n: kubeconform.run(paths, OBJECTS * n)),
        "kube-score": _Checked(
            jobs, lambda paths, n: kube_score.run(paths, OBJECTS * n), takes_folders=False
        ),
    }


def _check(paths: list[Path], _files: int) -> None:
    """Our check; what it finds is of no account."""
    command = [str(project.BIN / "trainer-infra"), "check", *map(str, paths), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        sys.exit(f"the check failed:\n{done.stderr[-4000:]}")


MEASUREMENTS: Final = {"checks": _checks, "packs": policy_packs.measured_packs}


if __name__ == "__main__":
    main()
