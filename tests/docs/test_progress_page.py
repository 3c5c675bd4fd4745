"""docs/progress.md names the callbacks, variables and limits that there are."""

import re

from tests.docs import page
from trainer_infra import callbacks, names
from trainer_infra.cli import metrics
from trainer_infra.cluster import container_logs
from trainer_infra.in_pod.callbacks import loop, training_progress
from trainer_infra.local import metrics_file

PAGE = page.ROOT / "docs" / "progress.md"
TEXT = " ".join(PAGE.read_text().split())


def test_every_callback_has_a_row() -> None:
    rows = page.table(PAGE, "framework", "in the training code")
    named = {name for _, code in rows for name in re.findall(r"\w+", code)}
    assert {each for each in callbacks.__all__ if "Checkpoint" not in each} <= named


def test_the_variables_that_tell_processes_apart_are_in_the_order_in_which_they_count() -> None:
    known = [number for number, _ in loop.VARIABLES]
    said = TEXT.partition("first of these variables that is set: ")[2].partition(". ")[0]
    assert page.codes(said) == known


def test_metrics_of_every_callback_have_their_names() -> None:
    rows = page.table(PAGE, "metric", "what it says")
    assert [page.codes(name)[0] for name, _ in rows] == list(metrics.FIRST)
    assert names.SAMPLES_PER_SECOND == training_progress.SAMPLES_PER_SECOND


def test_the_limits_are_those_of_the_code() -> None:
    assert (metrics.ROWS, training_progress.WINDOW, training_progress.LEAST) == (20, 60, 5)
    assert "twenty rows" in TEXT
    assert "over the last minute, or the last five steps" in TEXT
    assert f"larger than {metrics_file.LARGEST // 1024**2} MiB" in TEXT
    assert f"first {container_logs.PODS} nodes" in TEXT
    assert f"more than {container_logs.MOST_REPORTS:,} reports" in TEXT
