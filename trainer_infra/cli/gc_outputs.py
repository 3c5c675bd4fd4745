"""`trainer-infra gc --outputs`: outputs that runs kept on this machine, and whose runs are gone.

An output outlives its run, and no other command lists it then. What a run reads as its dataset or
its model stays, and so do outputs that have an address of their own.
"""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from trainer_infra import home_folders
from trainer_infra.cli import screen, table
from trainer_infra.cli.table import Column
from trainer_infra.local import disk_use, run_folder, runs
from trainer_infra.runs import sentences

COLUMNS: Final = (
    Column("NAMESPACE"),
    Column("RUN"),
    Column("SIZE"),
    Column("WRITTEN"),
    Column("OUTPUTS", folds=True),
)


@dataclass(frozen=True, slots=True)
class KeptOutputs:
    """What one run kept."""

    path: Path
    """The folder, in which each output has its own."""
    written: float
    """When a file of it was written last; seconds since the epoch."""
    size: int
    """Bytes."""

    @property
    def names(self) -> str:
        """Its outputs that hold something."""
        return ", ".join(sorted(each.name for each in self.path.iterdir() if _has_file(each)))


def collect(older_than: float | None, *, confirmed: bool) -> None:
    """List outputs whose runs are gone, ask, and remove them.

    Args:
        older_than: only those that were written last this many seconds ago; None for all.
        confirmed: whether to remove without asking.
    """
    root = home_folders.state_home() / "outputs"
    known = [each for each in _kept(root) if time.time() - each.written >= (older_than or 0)]
    readers = _readers()
    used = {each.path: who for each in known if (who := _reader(each.path, readers))}
    for path, who in used.items():
        typer.echo(f"left alone: {path.parent.name}/{path.name}, which {who} reads")
    left = [each for each in known if each.path not in used]
    since = f" for {sentences.duration_shown(older_than)}" if older_than else ""
    if not left:
        typer.echo(f"there is no output in {root} without its run that was left as it is{since}")
        return
    typer.echo(f"outputs in {root} of runs that are gone, left as they are{since}:")
    typer.echo("\n".join(_table(left)))
    if not confirmed and not typer.confirm(f"Delete {len(left)}?"):
        typer.echo("nothing is deleted")
        return
    freed = disk_use.bytes_freed([each.path for each in left])
    for each in left:
        shutil.rmtree(each.path, ignore_errors=True)
    kept = disk_use.bytes_freed([each.path for each in left])
    gone = sum(not each.path.exists() for each in left)
    typer.echo(f"{gone} deleted, {disk_use.size_text(freed - kept)} freed")


def _has_file(path: Path) -> bool:
    """Whether it is a file, or a folder that has one."""
    return path.is_file() or any(each.is_file() for each in path.rglob("*"))


def _kept(root: Path) -> Iterator[KeptOutputs]:
    """What runs kept that are gone, by namespace and name."""
    # A run whose folder cannot be read is there.
    there = {(each.path.parent.name, each.path.name) for each in run_folder.existing_folders()}
    for path in sorted(root.glob("*/*")):
        if path.is_dir() and (path.parent.name, path.name) not in there:
            times = (each.lstat().st_mtime for each in (path, *path.rglob("*")))
            yield KeptOutputs(path, max(times), disk_use.size_of(path))


def _readers() -> Mapping[str, str]:
    """What runs of this machine read, with the run."""
    return {
        uri.removeprefix("file://"): f"run {run.namespace}/{run.name}"
        for run in runs.list_runs().runs
        for uri in run.settings.inputs.values()
    }


def _reader(path: Path, readers: Mapping[str, str]) -> str:
    inside = (who for read, who in readers.items() if f"{read}/".startswith(f"{path}/"))
    return next(inside, "")


def _table(left: Sequence[KeptOutputs]) -> Iterator[str]:
    rows = [
        (
            each.path.parent.name,
            each.path.name,
            disk_use.size_text(each.size),
            f"{sentences.duration_shown(time.time() - each.written)} ago",
            each.names,
        )
        for each in left
    ]
    return table.table_lines(COLUMNS, rows, screen.screen_of_stdout())
