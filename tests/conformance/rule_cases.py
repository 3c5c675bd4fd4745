"""Which tests try which rules, as pytest collects them.

`python -m tests.conformance.rule_cases` prints one JSON object for each test; test_rules.py reads them.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.kept_passes import AGAIN

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class RuleCase:
    """A test, or a case of one."""

    name: str
    implementation: str
    """The manager that it runs on; empty for none."""
    rules: tuple[str, ...]
    differences: tuple[str, ...]
    """Ids of deviations that its rules name."""
    skipped: bool
    """Whether it is marked to be skipped or to fail."""


def rule_cases() -> list[RuleCase]:
    """All that pytest collects in this folder, in another process."""
    command = [sys.executable, "-m", "tests.conformance.rule_cases"]
    environ = {**os.environ, AGAIN: "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    read = map(json.loads, done.stdout.splitlines())
    return [
        RuleCase(**{**each, **{key: tuple(each[key]) for key in ("rules", "differences")}})
        for each in read
    ]


class _Collection:
    """A plugin of pytest that keeps what was collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = session.items


def _described(item: pytest.Item) -> dict[str, object]:
    marks = [*item.iter_markers("rule")]
    parameters = getattr(item, "callspec", None)
    manager = parameters.params.get("manager") if parameters else None
    return {
        "name": item.nodeid,
        "implementation": manager.name if manager else "",
        "rules": [each for mark in marks for each in mark.args[0]],
        "differences": [each.value for mark in marks for each in mark.args[1]],
        "skipped": any(item.get_closest_marker(each) for each in ("skip", "skipif", "xfail")),
    }


if __name__ == "__main__":
    collection = _Collection()
    arguments = ["--collect-only", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    with contextlib.redirect_stdout(io.StringIO()):
        code = pytest.main(arguments, plugins=[collection])
    for collected in collection.items:
        sys.stdout.write(json.dumps(_described(collected)) + "\n")
    sys.exit(code)
