"""What `pulumi up` shows of a run that it waits for: the beginning is what a narrow terminal shows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.project import Stack, read_until
from trainer_infra.deploy.operations import gate
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Owner, Run


def run(progress: int | None = None, remaining: int | None = None, **metrics: str) -> Run:
    report: dict[str, Any] = {
        "progressPercentage": progress,
        "estimatedRemainingSeconds": remaining,
        "metrics": [{"name": name, "value": value} for name, value in metrics.items()],
    }
    report = {key: value for key, value in report.items() if value is not None}
    status = {"trainerStatus": report}
    known = {"uid": "u", "host": "here", "owner": Owner(), "content": "c", "created": ""}
    return Run("default", "digits", phase="Running", status=status, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (run(), "running"),
        (run(21), "21%  running"),
        (run(21, 200, loss="0.3333333333333333"), "21%  3m left  loss=0.3333  running"),
        (
            run(21, 200, samples_per_second="812.44", loss="0.5"),
            "21%  3m left  812.4 samples/s  loss=0.5  running",
        ),
        (run(0, 0, loss="0.5"), "0%  0s left  loss=0.5  running"),
        (run(None, None, step="7"), "step=7  running"),
        (run(50, loss="0.1"), "50%  loss=0.1  running"),
        (
            replace(run(87, loss="0.067"), phase="Suspended", namespace="team"),
            "suspended by hand: resume with `trainer-infra resume digits -n team`",
        ),
        (
            replace(run(), phase="Suspended", waiting_for="admission by Kueue to queue q"),
            "admission by Kueue to queue q",
        ),
    ],
)
def test_percent_and_time_left_come_first(seen: Run, line: str) -> None:
    assert gate.status_line(seen) == line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.3333333333333333", "0.3333"),
        ("0.1", "0.1"),
        ("2.0", "2"),
        ("1e-05", "1e-05"),
        ("1.23456e-07", "1.235e-07"),
        ("-0.98765432", "-0.9877"),
        ("123456789", "123456789"),
        ("12345.678", "12346"),
        ("1e300", "1e300"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("resnet50", "resnet50"),
        ("1_000", "1000"),
        (0.123456, "0.1235"),
        (7, "7"),
    ],
)
def test_numbers_have_four_digits(value: float | str, shown: str) -> None:
    assert sentences.metrics_line({"m": value}) == f"m={shown}"


def test_of_a_run_that_reports_nothing_its_newest_line_is_shown(
    cli_stack: Stack, tmp_path: Path
) -> None:
    gate_file = tmp_path / "seen"
    code = f"printf '\\r\\033[32m50%%\\033[0m |## |'; until [ -e {gate_file} ]; do sleep 0.05; done"
    trainer = {"command": ["sh", "-c", code]}
    cli_stack.program(
        f'TrainJob("bar", runtime="plain-distributed", trainer={trainer!r}, wait_for="complete")'
    )
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("50% |## |  running", process)
        gate_file.touch()
        process.communicate(timeout=600)
    assert process.returncode == 0
