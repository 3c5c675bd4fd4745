"""`trainer-infra run`: submit a run of this machine, follow it, end with it.

A finished run of the same name that the command line owns is replaced; one that still runs is
followed when it is the same, otherwise refused. In a terminal one bar per node is redrawn below the log
lines; otherwise log lines go to stdout as they come and one line per change of the run goes to stderr.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from trainer_infra import names
from trainer_infra.cli.screen import PHASES
from trainer_infra.cli.submission import COMMAND_LINE
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.local import runs
from trainer_infra.runs import sentences
from trainer_infra.runs.run import LogSelection, Run, RunKey, Submission

INTERRUPTED: Final = 130
INTERVAL: Final = 0.1
"""Seconds between two looks at a run."""
LAST_LINES: Final = 5.0
"""Seconds that lines may come later than a run's end."""


def run(submission: Submission, *, detach: bool) -> int:
    """Run to the end, or only submit; the command's exit code.

    Raises:
        Refused: another run of that name is there.
        InvalidInput: this machine cannot run it now, for example for a port in use.
    """
    _make_room(submission)
    try:
        submitted = runs.submit(submission)
        if detach:
            typer.echo(f"{submitted.name} is submitted")
            typer.echo(f"follow it:         {sentences.command('logs -f', submitted)}")
            typer.echo(f"end and remove it: {sentences.command('delete', submitted)}")
            return 0
        ended = follow_runs(submitted)
    except KeyboardInterrupt:
        _interrupted(submission)
        return INTERRUPTED
    if ended.phase == names.FAILED:
        typer.echo(sentences.failure_lines(ended), err=True)
        return 1
    typer.echo(sentences.complete_line(ended), err=True)
    return 0


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
    tried = f", {run.attempts.briefly()}" if run.attempts.total > 1 else ""
    return Group(table, Text(f"{run.name} {run.phase.lower()}{left}{tried}{waits}", style="bold"))


def _named(submission: Submission) -> Run | None:
    """The run of the submission's name, whatever its owner."""
    metadata = submission.job["metadata"]
    return runs.get(metadata["namespace"], metadata["name"])


def _make_room(submission: Submission) -> None:
    """Remove a finished run of that name; runs of others are left to `submit` to refuse."""
    old = _named(submission)
    if old is None or old.owner != COMMAND_LINE:
        return
    if sentences.is_finished(old):
        typer.echo(f"replacing run {old.name}, which ended as {old.phase}", err=True)
        _delete(old)
    elif old.content == submission.content:
        typer.echo(f"{old.name} is running already; following it", err=True)
    else:
        raise Refused(
            f"run {old.name} is still running something else; wait for it, end it with "
            f"`{sentences.command('delete', old)}`, or choose another --name"
        )


def _interrupted(submission: Submission) -> None:
    """End the run, also one whose submit was interrupted half way."""
    run = _named(submission)
    if run is None or (run.owner, run.content) != (submission.owner, submission.content):
        typer.echo("\ninterrupted: nothing was submitted", err=True)
        return
    again = f"when interrupted again, end it with `{sentences.command('delete', run)}`"
    typer.echo(f"\ninterrupted: ending {run.name}; {again}", err=True)
    _delete(run)
    typer.echo(f"{run.name} is ended and removed", err=True)


def _delete(run: Run) -> None:
    warning = runs.delete(run.key)
    if warning:
        typer.echo(warning, err=True)


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
