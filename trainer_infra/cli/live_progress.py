"""A run as it goes: its log lines, and below them one bar per node.

In a terminal the bars are redrawn below the log lines; otherwise log lines go to stdout as they
come and one line per change of the run goes to stderr.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from trainer_infra.cli.screen import PHASES
from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs
from trainer_infra.runs import sentences
from trainer_infra.runs.run import LogSelection, Run, RunKey

INTERVAL: Final = 0.1
"""Seconds between two looks at a run."""
LAST_LINES: Final = 5.0
"""Seconds that lines may come later than a run's end."""


@dataclass(frozen=True, slots=True)
class View:
    """Where lines and states go."""

    line: Callable[[str, str], None]
    """Shows one log line of a pod (short name, line)."""
    state: Callable[[Run], None]
    """Shows a run that has changed."""


def follow_runs(run: Run) -> Run:
    """Show a run until it has ended and all its lines are shown; the run as it ended.

    Raises:
        NotAvailable: it was deleted meanwhile.
    """
    with _view() as view:
        reader = _Lines(run, view)
        reader.start()
        last: Run | None = None
        while not sentences.is_finished(run):
            if run != last:
                view.state(run)
            last = run
            time.sleep(INTERVAL)
            reader.check()
            found = runs.get(*run.key.address)
            if found is None:
                raise NotAvailable(f"run {run.name} is gone: it was deleted while it was followed")
            run = found
        reader.join(LAST_LINES)
        view.state(run)
    return run


class _Lines(threading.Thread):
    """Shows a run's log lines as they come."""

    def __init__(self, run: Run, view: View) -> None:
        super().__init__(daemon=True)
        self._run, self._view = run, view
        self._failed: Exception | None = None

    @override
    def run(self) -> None:
        try:
            for pod, line in runs.logs(RunKey(*self._run.key.address), LogSelection(follow=True)):
                self._view.line(sentences.short_pod_name(self._run, pod), line)
        except Exception as error:  # noqa: BLE001  raised again where the command sees it
            self._failed = error

    def check(self) -> None:
        """Raise what ended the thread, for example a closed stdout."""
        if self._failed is not None:
            raise self._failed


@contextmanager
def _view() -> Iterator[View]:
    console = Console(highlight=False)
    if not console.is_terminal:
        yield View(_plain_line, _plain_state())
        return

    def line(pod: str, text: str) -> None:
        shown = Text.assemble((f"{pod}: ", "dim"), Text.from_ansi(text))
        console.print(shown, soft_wrap=True)

    with Live(console=console, refresh_per_second=8) as display:
        yield View(line, lambda run: display.update(progress_bars(run)))


def progress_bars(run: Run) -> RenderableType:
    """One row per node: name, bar, percent, phase, metrics; below it what the run waits for."""
    table = Table.grid(padding=(0, 2))
    for each in run.nodes:
        table.add_row(
            Text(sentences.short_pod_name(run, each.pod)),
            ProgressBar(
                completed=each.progress or 0,
                width=30,
                complete_style="cyan",
                finished_style="green",
            ),
            Text("" if each.progress is None else f"{each.progress}%", justify="right"),
            Text(each.phase, style=PHASES.get(each.phase, "")),
            Text(sentences.reported_line(each.metrics, gap="  ")),
        )
    waits = f": {sentences.waits_for(run)}" if sentences.waits_for(run) else ""
    left = f", {sentences.remaining_time(run)} left" if sentences.remaining_time(run) else ""
    return Group(table, Text(f"{run.name} {run.phase.lower()}{left}{waits}", style="bold"))


def _plain_line(pod: str, text: str) -> None:
    sys.stdout.write(f"{pod}: {text}\n")
    sys.stdout.flush()


def _plain_state() -> Callable[[Run], None]:
    shown = [""]

    def state(run: Run) -> None:
        line = sentences.progress_line(run)
        if line != shown[0]:
            sys.stderr.write(f"{line}\n")
            shown[0] = line

    return state
