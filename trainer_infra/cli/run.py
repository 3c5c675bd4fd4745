"""`trainer-infra run`: submit a run of this machine, follow it, end with it.

A finished run of the same name that the command line owns is replaced; one that still runs is
followed when it is the same, otherwise refused.
"""

from typing import Final

import typer

from trainer_infra import names
from trainer_infra.cli import live_progress
from trainer_infra.cli.submission import COMMAND_LINE
from trainer_infra.errors import Refused
from trainer_infra.local import runs
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run, Submission

INTERRUPTED: Final = 130


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
        ended = live_progress.follow_runs(submitted)
    except KeyboardInterrupt:
        _interrupted(submission)
        return INTERRUPTED
    if ended.phase == names.FAILED:
        typer.echo(sentences.failure_lines(ended), err=True)
        return 1
    typer.echo(sentences.complete_line(ended), err=True)
    return 0


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
