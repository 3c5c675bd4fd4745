"""Which tests try which rules, as pytest collects them.

`main` prints one JSON object for each test; test_rules.py reads them.
"""

import contextlib
import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests import warm_start
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
    done = warm_start.run(main, folder=ROOT, env={**os.environ, AGAIN: "1"})
    assert done.code == 0, done.err
    read = map(json.loads, done.out.splitlines())
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


def main() -> int:
    """Print what pytest collects."""
    collection = _Collection()
    # Nothing is run, and so no assertion is made to say more.
    options = ["--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()):
        code = pytest.main([*options, str(Path(__file__).parent)], plugins=[collection])
    for collected in collection.items:
        sys.stdout.write(json.dumps(_described(collected)) + "\n")
    return code
