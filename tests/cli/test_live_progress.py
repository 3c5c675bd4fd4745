"""What a run looks like while it goes on: a bar per node in a terminal, a line per change elsewhere."""

from dataclasses import replace

from rich.console import Console

from trainer_infra.cli import run as command
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Node, Owner, Run

REPORTED = {"step": "40", "samples_per_second": "812.44", "loss": "0.333333"}
RUN = Run(
    namespace="default",
    name="digits",
    uid="u",
    host="here",
    owner=Owner(),
    content="c",
    created="2026-11-26T12:00:00Z",
    phase="Running",
    status={"trainerStatus": {"progressPercentage": 40, "estimatedRemainingSeconds": 200}},
    nodes=(
        Node("digits-node-0-0", "Running", 40, REPORTED),
        Node("digits-node-0-1", "Running"),
    ),
)


def test_a_bar_has_samples_per_second_and_the_last_line_the_time_that_is_left() -> None:
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(command.progress_bars(RUN))
    first, second, last = captured.get().splitlines()
    words = first.split()
    assert words[0] == "node-0-0"
    assert words[-6:] == ["40%", "Running", "812.4", "samples/s", "step=40", "loss=0.3333"]
    assert second.split()[-1] == "Running"
    assert last.strip() == "digits running, 3m left"


def test_a_line_has_the_same() -> None:
    assert sentences.progress_line(RUN) == (
        "digits: running, 3m left, node-0-0 40% 812.4 samples/s step=40 loss=0.3333, "
        "node-0-1 Running"
    )
    silent = replace(RUN, status={}, nodes=RUN.nodes[1:])
    assert sentences.progress_line(silent) == "digits: running, node-0-1 Running"
