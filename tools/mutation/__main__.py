"""Which of 150 small faults in the deciding rooms do the tests find? `python -m tools.mutation`.

    python -m tools.mutation plant COPY            a clone of the checkout gets the mutants, all asleep
    python -m tools.mutation reach COPY TESTS...   run the tests once: which of them reach each mutant
    python -m tools.mutation judge COPY [VERDICTS] wake one after another, and run the tests that reach it,
                                                   first what found it in the verdicts of another copy

COPY is thrown away afterwards; it has been set up with `make setup`. Results are JSON beside it; what was
judged stays, so the last step goes on where it was interrupted.
"""

import argparse
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.mutation import planted

SEED: Final = 36
PER_ROOM: Final = 25
PATIENCE: Final = 900.0
"""Seconds of tests, by what they took in the first run, that one mutant gets."""
AT_ONCE: Final = 40
"""Tests of one start of pytest: a mutant is often found by the first."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The clone with the mutants, and the files beside it."""

    folder: Path

    def beside(self, name: str) -> Path:
        """A file or folder of results."""
        return self.folder.with_name(f"{self.folder.name}-{name}")

    def pytest(self, *arguments: str, **environment: str) -> int:
        """Run the clone's own tests; the exit code."""
        return subprocess.run(
            [str(self.folder / ".venv" / "bin" / "pytest"), *arguments],
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL if "-x" in arguments else None,
            stderr=subprocess.DEVNULL if "-x" in arguments else None,
            check=False,
        ).returncode


def main() -> None:
    """Do one of the three steps."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("step", choices=["plant", "reach", "judge"])
    parser.add_argument("copy", type=Path)
    parser.add_argument("tests", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    copy = Copy(asked.copy.resolve())
    if asked.step == "plant":
        mutants = planted.chosen_mutants(copy.folder, SEED, PER_ROOM)
        copy.beside("mutants.json").write_text(planted.as_json(mutants))
        planted.plant(copy.folder, mutants)
    elif asked.step == "reach":
        sys.exit(reach(copy, asked.tests))
    else:
        sys.exit(judge(copy, *map(Path, asked.tests)))


def reach(copy: Copy, tests: list[str]) -> int:
    """Run the tests with every mutant asleep, and keep which test came to which."""
    notes = copy.beside("reached")
    notes.mkdir(exist_ok=True)
    report = copy.beside("first.xml")
    return copy.pytest(
        f"--junitxml={report}", "-o", "junit_family=xunit1", *tests, MUTANTS_REACHED=str(notes)
    )


def judge(copy: Copy, other: Path | None = None) -> int:
    """Say of each mutant which test found it; one that is judged already is not judged again.

    The exit code is that of the tests that found one, run where all mutants sleep.
    """
    done = _verdicts(copy.beside("verdicts.jsonl"))
    hints = _verdicts(other) if other else {}
    seconds = dict(_passed(copy.beside("first.xml")))
    reached = _reached(copy)
    mutants = json.loads(copy.beside("mutants.json").read_text())

    def verdict(mutant: dict[str, Any]) -> None:
        number, place = mutant["number"], f"{mutant['file']}:{mutant['site']['line']}"
        tests = sorted(
            reached[number] & set(seconds),
            key=lambda each: (each != hints.get(number), seconds[each]),
        )
        found = next(_finders(copy, number, tests, seconds), None)
        print(f"{number:4} {place} {found or 'SURVIVES'}", flush=True)
        with copy.beside("verdicts.jsonl").open("a") as file:
            file.write(json.dumps({"number": number, "place": place, "found_by": found}) + "\n")

    with ThreadPoolExecutor(2) as workers:
        list(workers.map(verdict, (each for each in mutants if each["number"] not in done)))
    finders = [each for each in _verdicts(copy.beside("verdicts.jsonl")).values() if each]
    print(f"{len(finders)} of {len(mutants)} are found; their finders where all mutants sleep:")
    return copy.pytest("-q", "-n", "2", *sorted({each for each in finders if "::" in each}))


def _verdicts(file: Path) -> dict[int, str | None]:
    """What found each mutant that was judged, by its number."""
    lines = map(json.loads, file.read_text().splitlines() if file.exists() else ())
    return {each["number"]: each["found_by"] for each in lines}


def _reached(copy: Copy) -> Mapping[int, set[str]]:
    """The tests that came to each mutant."""
    reached = defaultdict(set)
    for note in copy.beside("reached").iterdir():
        for line in note.read_text().splitlines():
            number, _, test = line.partition("\t")
            reached[int(number)].add(test)
    return reached


def _finders(copy: Copy, number: int, tests: list[str], seconds: dict[str, float]) -> Iterator[str]:
    spent = 0.0
    while tests and spent < PATIENCE:
        batch, tests = tests[:AT_ONCE], tests[AT_ONCE:]
        spent += sum(seconds[each] for each in batch)
        report = copy.beside(f"judged-{number}.xml")
        report.unlink(missing_ok=True)
        code = copy.pytest(
            *("-x", "-p", "no:cacheprovider", "-o", "timeout=300", f"--junitxml={report}"),
            *("-o", "junit_family=xunit1", *batch),
            MUTANT=str(number),
        )
        if code != 0:
            failed = (
                set(batch) - {name for name, _ in _passed(report)} if report.exists() else set()
            )
            yield next((each for each in batch if each in failed), f"exit code {code}")


def _passed(report: Path) -> Iterator[tuple[str, float]]:
    """Ids of tests that passed, with their seconds."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  pytest wrote it
        if (
            not list(case.iter("failure"))
            and not list(case.iter("error"))
            and not list(case.iter("skipped"))
        ):
            yield f"{case.get('file')}::{case.get('name')}", float(case.get("time", 0))


if __name__ == "__main__":
    main()
