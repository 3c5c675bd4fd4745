"""What a run on this machine keeps of its reports: a file of JSON lines, which does not grow without end."""

import json
import os
from itertools import pairwise
from pathlib import Path

from tests.local.jobs import OWNER, Job, eventually, finished, now, python, shell
from tests.local.test_progress_of_a_run import POST
from trainer_infra.local import metrics_file, run_folder, runs, target
from trainer_infra.local.metrics_file import MetricsFile
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import RunKey

KEY = RunKey("default", "tj")
REPORTS = """
for second in range(3):
    status = {"progressPercentage": 10 * second, "estimatedRemainingSeconds": 9 - second,
              "lastUpdatedTime": f"2026-01-02T03:04:0{second}Z",
              "metrics": [{"name": "loss", "value": f"0.{rank}{second}"}]}
    post({"trainerStatus": status})
"""


def test_every_report_of_every_node_is_kept_in_order_of_time() -> None:
    finished(Job(command=python(POST + REPORTS), nodes=2).submit())
    found = runs.history(KEY)
    assert sorted((each.node, each.metrics["loss"]) for each in found) == [
        ("node-0-0", "0.00"),
        ("node-0-0", "0.01"),
        ("node-0-0", "0.02"),
        ("node-0-1", "0.10"),
        ("node-0-1", "0.11"),
        ("node-0-1", "0.12"),
    ]
    assert [each.progress for each in found] == [0, 0, 10, 10, 20, 20]
    assert [each.remaining for each in found] == [9, 9, 8, 8, 7, 7]
    lines = run_folder.folder_of("default", "tj").metrics.read_text().splitlines()
    assert [set(json.loads(each)) for each in lines] == [
        {"time", "node", "progress", "remaining", "metrics"}
    ] * 6


def test_a_run_without_reports_has_no_history() -> None:
    finished(Job().submit())
    assert runs.history(KEY) == ()


def test_no_value_of_a_secret_is_in_the_file() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "tj-secret"}, "stringData": {"p": "<secret>"}}
    env = [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "tj-secret", "key": "p"}}}]
    code = """
status = {"lastUpdatedTime": "2026-01-02T03:04:05Z",
          "metrics": [{"name": "key", "value": "is " + os.environ["P"]}]}
post({"trainerStatus": status})
"""
    job = Job(command=python(POST + code), env=env, objects=[secret], secrets={"p": "planted-here"})
    finished(job.submit())
    (report,) = runs.history(KEY)
    assert report.metrics == {"key": "is <secret>"}
    assert "planted" not in run_folder.folder_of("default", "tj").metrics.read_text()


def test_a_run_that_is_run_again_has_the_history_of_the_new_try() -> None:
    failed = finished(Job(command=python(f"{POST}{REPORTS}raise SystemExit(1)")).submit())
    assert len(runs.history(KEY)) == 3
    again = target.retry_run(RunKey("default", "tj", failed.uid, OWNER))
    eventually(lambda: now(again).phase == "Failed")
    assert len(runs.history(KEY)) == 3


def test_a_full_disk_or_a_lost_folder_does_not_end_a_run(tmp_path: Path) -> None:
    MetricsFile(tmp_path / "gone" / "metrics.jsonl").add(PastReport("2026-01-02T03:04:05Z", "a"))


def week(path: Path, reports: int, largest: int) -> MetricsFile:
    """A file with a report each second of two nodes."""
    made = MetricsFile(path, largest)
    for second in range(reports):
        hours, rest = divmod(second, 3600)
        time = f"2026-01-{2 + hours // 24:02}T{hours % 24:02}:{rest // 60:02}:{rest % 60:02}Z"
        for node in ("node-0-0", "node-0-1"):
            made.add(PastReport(time, node, second // 100, None, {"step": str(second)}))
    return made


def test_the_file_stays_small_and_keeps_the_whole_time(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    week(path, 5000, largest=64 * 1024)
    assert path.stat().st_size <= 64 * 1024 + 200
    assert path.stat().st_mode & 0o777 == 0o600
    steps = [
        int(each.metrics["step"])
        for each in metrics_file.read_metrics(path)
        if each.node == "node-0-1"
    ]
    assert (steps[0], steps[-1]) == (0, 4999)
    assert len(steps) > 100
    assert steps == sorted(steps)
    # Nowhere is more than a twentieth of the time missing.
    assert max(later - earlier for earlier, later in pairwise(steps)) < 250


def test_reports_that_are_large_themselves_leave_the_first_and_the_last(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    made = MetricsFile(path, largest=2000)
    for second in range(9):
        many = {f"metric-{index}": "x" * 60 for index in range(20)}
        made.add(PastReport(f"2026-01-02T03:04:0{second}Z", "node-0-0", second, None, many))
    assert [each.progress for each in metrics_file.read_metrics(path)][0::8] == [0]
    assert metrics_file.read_metrics(path)[-1].progress == 8
    assert len(metrics_file.read_metrics(path)) <= 3


def test_half_a_line_at_the_end_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    MetricsFile(path).add(PastReport("2026-01-02T03:04:05Z", "node-0-0", 7))
    with path.open("a") as file:
        file.write('{"time": "2026-01-0')
        file.flush()
        os.fsync(file.fileno())
    assert [each.progress for each in metrics_file.read_metrics(path)] == [7]


def test_a_run_of_an_earlier_release_has_its_last_report() -> None:
    finished(Job(command=python(POST + REPORTS)).submit())
    run_folder.folder_of("default", "tj").metrics.unlink()
    (report,) = runs.history(KEY)
    assert (report.node, report.progress, dict(report.metrics)) == (
        "node-0-0",
        20,
        {"loss": "0.02"},
    )


def test_a_run_that_is_not_there_says_so() -> None:
    run = finished(Job(command=shell("true")).submit())
    assert runs.history(RunKey("default", "tj", run.uid)) == ()
