"""`trainer-infra gc --cache` and `--outputs`: what no run of this machine needs.

Virtual environments of packages: what a run uses, or what is being installed, stays. Code of previews: a
preview keeps folders that go to a store, and the files of git references; the next one that needs them makes
them again. Outputs that runs kept and whose runs are gone: an output outlives its run, and no other command
lists it then; what a run reads as its dataset or its model stays, and so do outputs that have an address of
their own.
"""

import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import typer

from trainer_infra import home_folders
from trainer_infra.cli import screen, table
from trainer_infra.cli.table import Column
from trainer_infra.local import disk_use, environments, packages, run_folder, runs
from trainer_infra.local.environments import FAILED, UNFINISHED, PythonEnvironment
from trainer_infra.runs import sentences
from trainer_infra.trainers.custom import git_tree, stored_code

_ENVIRONMENTS: Final = (
    Column("ENVIRONMENT"),
    Column("STATE", styles={FAILED: "bold red", UNFINISHED: "yellow"}),
    Column("SIZE"),
    Column("USED"),
    Column("PACKAGES", folds=True),
)
KEPT_SECONDS: Final = 3600.0
"""Code that a preview used later than that stays: an `up` may be sending it."""
_OUTPUTS: Final = (
    Column("NAMESPACE"),
    Column("RUN"),
    Column("SIZE"),
    Column("WRITTEN"),
    Column("OUTPUTS", folds=True),
)


def collect_environments(older_than: float | None, *, confirmed: bool) -> None:
    """List the environments that no run uses, ask unless that is confirmed, and remove them.

    With `older_than` only those that were last used this many seconds ago.
    """
    known = environments.every_environment()
    old = [each for each in known if time.time() - each.used >= (older_than or 0)]
    for each in old:
        if each.user:
            typer.echo(f"left alone: {each.path.name} ({each.packages or 'packages'}), {each.user}")
    unused = [each for each in old if not each.user]
    since = f" for {sentences.duration_shown(older_than)}" if older_than else ""
    if not unused:
        typer.echo(
            f"there is no environment in {packages.environments_home()} that no run uses{since}"
        )
        return
    typer.echo(f"environments in {packages.environments_home()} that no run uses{since}:")
    rows = [
        (each.path.name, each.state, _size(each.path), _ago(each.used), each.packages)
        for each in unused
    ]
    typer.echo("\n".join(table.table_lines(_ENVIRONMENTS, rows, screen.screen_of_stdout())))
    if screen.is_confirmed(len(unused), confirmed=confirmed):
        _remove_environments(unused)


def collect_code(older_than: float | None, *, confirmed: bool) -> None:
    """Name the code that no run of this machine needs, ask unless that is confirmed, and remove it.

    With `older_than` only what a preview last used this many seconds ago.
    """
    is_old = partial(_is_unused_for, max(older_than or 0, KEPT_SECONDS))
    # Also what a preview that was killed had written by half.
    archives = filter(is_old, stored_code.kept_folder().glob("*"))
    trees = filter(is_old, git_tree.kept_folder().glob("*"))
    unused = {each: disk_use.size_of(each) for each in (*_not_submitted(archives), *trees)}
    if not unused:
        return
    typer.echo(
        f"code of {len(unused)} previews in {home_folders.cache_home()}, which no run of this machine "
        f"needs: {disk_use.size_text(sum(unused.values()))}"
    )
    if not screen.is_confirmed(len(unused), confirmed=confirmed):
        return
    # A preview may have used some while the question stood.
    freed = [unused[each] for each in unused if is_old(each) and _is_removed(each)]
    typer.echo(f"{len(freed)} deleted, {disk_use.size_text(sum(freed))} freed")


@dataclass(frozen=True, slots=True)
class KeptOutputs:
    """What one run kept."""

    path: Path
    """The folder, in which each output has its own."""
    written: float
    """When a file of it was written last; seconds since the epoch."""

    @property
    def names(self) -> str:
        """Its outputs that hold something."""
        return ", ".join(sorted(each.name for each in self.path.iterdir() if _has_file(each)))


def collect_outputs(older_than: float | None, *, confirmed: bool) -> None:
    """List outputs whose runs are gone, ask unless that is confirmed, and remove them.

    With `older_than` only those that were written last this many seconds ago.
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
    rows = [
        (each.path.parent.name, each.path.name, _size(each.path), _ago(each.written), each.names)
        for each in left
    ]
    typer.echo("\n".join(table.table_lines(_OUTPUTS, rows, screen.screen_of_stdout())))
    if not screen.is_confirmed(len(left), confirmed=confirmed):
        return
    paths = [each.path for each in left]
    freed = disk_use.bytes_freed(paths)
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
    kept = disk_use.bytes_freed(paths)
    gone = sum(not path.exists() for path in paths)
    typer.echo(f"{gone} deleted, {disk_use.size_text(freed - kept)} freed")


def _size(path: Path) -> str:
    return disk_use.size_text(disk_use.size_of(path))


def _ago(time_of_it: float) -> str:
    return f"{sentences.duration_shown(time.time() - time_of_it)} ago"


def _remove_environments(unused: Sequence[PythonEnvironment]) -> None:
    paths = [each.path for each in unused]
    size, freed = sum(map(disk_use.size_of, paths)), disk_use.bytes_freed(paths)
    gone = 0
    for each in unused:
        if environments.remove_environment(each):
            gone += 1
        else:
            typer.echo(f"{each.path.name} is left alone: it is used by now", err=True)
    left = disk_use.bytes_freed([path for path in paths if path.exists()])
    typer.echo(f"{gone} deleted, {disk_use.size_text(freed - left)} freed")
    shared = size - freed
    if shared:
        typer.echo(
            f"{disk_use.size_text(shared)} of their files stay, in uv's cache or in other environments; "
            "`uv cache clean` empties that cache"
        )


def _is_unused_for(seconds: float, code: Path) -> bool:
    try:
        return time.time() - code.stat().st_mtime >= seconds
    except FileNotFoundError:
        return False


def _not_submitted(archives: Iterable[Path]) -> Collection[Path]:
    """Those that are no run's, which may fetch its own again when it restarts or is retried."""
    left = set(archives)
    for run in runs.list_runs().runs:
        with suppress(FileNotFoundError):
            record = run_folder.folder_of(run.namespace, run.name).record.read_bytes()
            left = {each for each in left if each.name.encode() not in record}
    return left


def _is_removed(code: Path) -> bool:
    """Remove it in one step, so that no preview reads half of it; False where another `gc` did."""
    gone = Path(tempfile.mkdtemp(prefix=".partial-", dir=code.parent))
    try:
        code.rename(gone / code.name)
    except FileNotFoundError:
        return False
    finally:
        shutil.rmtree(gone, ignore_errors=True)
    return True


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
            yield KeptOutputs(path, max(times))


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
