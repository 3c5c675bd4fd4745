"""`trainer-infra get NAME --metrics`: what training reported, as a table, as a plot and as JSON."""

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests import terminal
from tests.cli.command import PROGRAM, Command
from tests.cli.conftest import Team
from tests.cluster.world import container, ended
from trainer_infra.cli import metrics
from trainer_infra.lifecycle.conditions import timestamp
from trainer_infra.local import run_folder
from trainer_infra.local.metrics_file import MetricsFile
from trainer_infra.runs.report_history import PastReport

TRAIN = """
def train():
    from trainer_infra.callbacks import TrainingLoop
    from trainer_infra.report import report
    import os
    if os.environ["JAX_PROCESS_ID"] == "1":
        report(loss=0.75)
        return
    loop = TrainingLoop(2)
    loop.step(samples=8, epoch=0.5, loss=0.5)
    loop.step(samples=8, epoch=1, loss=0.25)
    loop.end(accuracy=0.9, note="warm")
"""
SILENT = "def train(): print('nothing to say')\n"


@pytest.fixture(scope="module")
def done(shared_cli: Command) -> Command:
    """A folder with a finished run of two nodes, one that has hundreds of reports, and a silent one."""
    shared_cli.write("digits.py", TRAIN)
    shared_cli.write("silent.py", SILENT)
    two = shared_cli("run", "digits.py:train", "--runtime", "jax-distributed", "--nodes", "2")
    assert two.code == 0, two.err
    for name in ("silent", "long"):
        assert shared_cli("run", "silent.py:train", "--name", name).code == 0
    folder = Path(shared_cli.env["TRAINER_INFRA_HOME"]) / "runs" / "default" / "long"
    kept = MetricsFile(run_folder.RunFolder(folder).metrics)
    begin = datetime.now(UTC)
    for step in range(300):
        time = timestamp(begin + timedelta(minutes=step))
        metrics = {"step": str(step), "loss": f"{300 / (step + 1):.3f}"}
        metrics |= {f"a_metric_with_a_long_name_{index}": "0.5" for index in range(6)}
        kept.add(PastReport(time, "node-0-0", step // 3, 300 - step, metrics))
    return shared_cli


def test_a_table_has_a_row_per_report_and_a_column_per_metric(done: Command) -> None:
    head, *rows = [line.split() for line in done("get", "digits", "--metrics").out.splitlines()]
    assert head[:4] == ["ELAPSED", "NODE", "PROGRESS", "LEFT"]
    assert head[4:7] == ["step", "epoch", "samples_per_second"]
    assert {"loss", "accuracy", "note"} == {*head[7:]}
    first, second = ([row for row in rows if row[1] == f"node-0-{index}"] for index in (0, 1))
    last = dict(zip(head, first[-1], strict=True))
    assert re.fullmatch(r"0:00:\d\d", last.pop("ELAPSED"))
    assert float(last.pop("samples_per_second")) > 0
    assert last == {
        "NODE": "node-0-0",
        "PROGRESS": "100%",
        "LEFT": "0s",
        "step": "2",
        "epoch": "1",
        "loss": "0.25",
        "accuracy": "0.9",
        "note": "warm",
    }
    other = [dict(zip(head, row, strict=True)) for row in second]
    assert [(each["PROGRESS"], each["loss"]) for each in other] == [("-", "0.75")]


def test_a_long_history_is_twenty_rows_unless_all_are_asked_for(done: Command) -> None:
    rows = done("get", "long", "--metrics").out.splitlines()[1:]
    steps = [int(row.split()[3]) for row in rows]
    assert len(steps) == 20
    assert (steps[0], steps[-1]) == (0, 299)
    assert all(10 < later - earlier < 20 for earlier, later in pairwise(steps))
    assert len(done("get", "long", "--metrics", "--all").out.splitlines()) == 301
    assert len(done("get", "long", "--all").out.splitlines()) == 301


def test_a_terminal_has_the_columns_that_there_is_room_for_and_names_the_others(
    done: Command,
) -> None:
    env = {name: value for name, value in done.env.items() if name != "COLUMNS"}
    command = [PROGRAM, "get", "long", "--metrics"]
    _, text = terminal.drawn(command, done.folder, env, columns=80)
    lines = text.splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert lines[0].split()[:5] == ["ELAPSED", "PROGRESS", "LEFT", "step", "loss"]
    assert lines[-1].startswith("no room for a_metric_with_a_long_name_1, ")
    assert lines[-1].endswith("a_metric_with_a_long_name_5: --plot NAME draws one, -o json has all")


def test_a_plot_has_the_metric_over_the_steps(done: Command) -> None:
    title, *rows, axis, ends = done("get", "long", "--plot", "loss").out.splitlines()
    assert title == "loss of node-0-0, over step"
    assert len(rows) == metrics.PLOT_ROWS
    assert max(map(len, rows)) <= 80
    assert (rows[0].split()[0], rows[-1].split()[0]) == ("300", "1")
    assert set(axis.strip()) == {metrics.CORNER, metrics.ALONG}
    assert ends.split() == ["0", "299"]
    # It falls fast, and then goes on along the bottom.
    assert [len(row.rstrip()) for row in rows] == sorted(len(row.rstrip()) for row in rows)
    assert done("get", "long", "--metrics", "--plot", "progress").code == 0


def test_each_node_has_a_plot_over_time_where_one_has_no_steps(done: Command) -> None:
    lines = done("get", "digits", "--plot", "loss").out.splitlines()
    assert sorted(line for line in lines if line.startswith("loss of")) == [
        "loss of node-0-0, over time",
        "loss of node-0-1, over time",
    ]
    assert done("get", "digits", "--plot", "accuracy").out.startswith(
        "accuracy of node-0-0, over step"
    )


@pytest.mark.parametrize("metric", ["losses", "note"])
def test_a_metric_without_numbers_is_an_error_that_names_what_there_is(
    done: Command, metric: str
) -> None:
    failed = done("get", "digits", "--plot", metric)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err == (
        f"digits has no numbers of a metric '{metric}'; it reported progress, accuracy, epoch, loss, "
        "note, samples_per_second, step\n"
    )


def test_json_and_yaml_have_every_report(done: Command) -> None:
    items = json.loads(done("get", "long", "--metrics", "-o", "json").out)["items"]
    assert len(items) == 300
    assert items[0] | {"time": "", "metrics": {}} == {
        "time": "",
        "node": "node-0-0",
        "progress": 0,
        "remaining": 300,
        "metrics": {},
    }
    assert yaml.safe_load(done("get", "long", "--metrics", "-o", "yaml").out) == {"items": items}


def test_a_run_without_reports_says_what_to_do(done: Command) -> None:
    silent = done("get", "silent", "--metrics")
    assert (silent.code, silent.out) == (0, "")
    assert silent.err == (
        "silent has reported nothing: let its training code call trainer_infra.report, or use a "
        "callback of trainer_infra.callbacks\n"
    )
    assert done("get", "silent", "--metrics", "-o", "json").out == '{\n  "items": []\n}\n'


def test_what_is_about_one_run_is_refused_for_a_list(done: Command) -> None:
    for arguments in (("--metrics",), ("--plot", "loss"), ("--all",)):
        refused = done("get", *arguments)
        assert refused.code == 2
        assert "about one run: give its NAME" in refused.err
    assert done("get", "digits", "--plot", "loss", "-o", "json").code == 2


def test_a_run_of_a_cluster_has_its_last_report(team: Team) -> None:
    team.submit()
    said = {"progressPercentage": 40, "lastUpdatedTime": "2026-11-21T12:00:40Z"}
    statuses = [container(ended(0, "Completed", json.dumps(said)))]
    team.world.pod(phase="Succeeded", containerStatuses=statuses)
    found = team.command("get", "tj", "--metrics", "--target", "kubernetes")
    assert found.code == 0, found.err
    assert [line.split() for line in found.out.splitlines()] == [
        ["ELAPSED", "PROGRESS"],
        ["0:00:30", "40%"],
    ]


def test_a_single_report_is_a_dot_and_steps_that_begin_anew_stay_within_the_plot() -> None:
    (first, *rows, _, _) = metrics.plot_lines([(7.0, 0.5)], ("7", "7"), 40)
    assert first.split() == ["0.5", f"{metrics.UP}\u2801"]
    assert {row.split()[-1] for row in rows} == {metrics.UP}
    # A container that was started again: step 20, then step 1.
    lines = list(metrics.plot_lines([(1, 5.0), (20, 0.5), (1, 3.0), (5, 2.0)], ("1", "20"), 40))
    assert max(map(len, lines)) <= 40
    assert all(len(line.split(metrics.UP)[1]) > 0 for line in lines[: metrics.PLOT_ROWS])
