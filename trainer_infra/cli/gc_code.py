"""`trainer-infra gc --cache`: code of previews that no run of this machine needs.

Called by `runs`. A preview keeps folders that go to a store, and the files of git references; the next one
that needs them makes them again.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import typer

from trainer_infra import home_folders
from trainer_infra.local import disk_use, run_folder, runs
from trainer_infra.trainers.custom import git_tree, stored_code

KEPT_SECONDS: Final = 3600.0
"""Code that a preview used later than that stays: an `up` may be sending it."""


def collect(older_than: float | None, *, confirmed: bool) -> None:
    """Name the code that no run of this machine needs, ask, and remove it; nothing where there is none.

    Args:
        older_than: only what a preview last used this many seconds ago; None for all.
        confirmed: whether to remove without asking.
    """
    unused = [
        each
        for each in (*_archives(), *_children(git_tree.kept_folder()))
        if time.time() - each.stat().st_mtime >= max(older_than or 0, KEPT_SECONDS)
    ]
    if not unused:
        return
    size = disk_use.size_text(sum(map(disk_use.size_of, unused)))
    typer.echo(
        f"code of {len(unused)} previews in {home_folders.cache_home()}, which no run of this machine "
        f"needs: {size}"
    )
    if not confirmed and not typer.confirm(f"Delete {len(unused)}?"):
        typer.echo("nothing is deleted")
        return
    for each in unused:
        _remove(each)
    typer.echo(f"{len(unused)} deleted, {size} freed")


def _archives() -> Iterator[Path]:
    """Folders that went to a store; a run may fetch its own again when it restarts or is retried."""
    left = set(_children(stored_code.kept_folder()))
    for run in runs.list_runs().runs:
        with suppress(FileNotFoundError):
            record = run_folder.folder_of(run.namespace, run.name).record.read_bytes()
            left = {each for each in left if each.name.encode() not in record}
    return iter(left)


def _children(folder: Path) -> Iterator[Path]:
    return folder.glob("[!.]*")


def _remove(code: Path) -> None:
    """In one step, so that no preview reads half of it."""
    gone = Path(tempfile.mkdtemp(prefix=".partial-", dir=code.parent))
    code.rename(gone / code.name)
    shutil.rmtree(gone, ignore_errors=True)
