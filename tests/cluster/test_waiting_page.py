"""docs/waiting.md has a row for each cause, with what a gate does and why."""

import re
from pathlib import Path

from trainer_infra.runs.waiting_cause import GATES, Cause, Gate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "waiting.md"
ROW = re.compile(r"^\| ([\w-]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def of(gate: Gate) -> str:
    """The gate as the page has it."""
    how = "waits" if gate.ends_after is None else f"ends after {gate.ends_after:g} s"
    return f"{how}: {gate.because}"


def test_the_page_has_what_each_gate_does_in_the_order_of_the_causes() -> None:
    _, *rows = ROW.findall(PAGE.read_text())
    assert [(row[0], row[2]) for row in rows] == [(each, of(GATES[each])) for each in Cause]


def test_the_page_is_linked_from_where_one_begins() -> None:
    root = PAGE.parent
    assert "(docs/waiting.md)" in (root.parent / "README.md").read_text()
    assert "(waiting.md)" in (root / "kubernetes.md").read_text()
