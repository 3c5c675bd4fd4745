"""`trainer-infra gc --cache`: code of previews that no run of this machine needs.

A preview keeps folders that go to a store, and the files of git references; the next one that needs
them makes them again.
"""

import shutil
import tempfile
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial
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
    if not confirmed and not typer.confirm(f"Delete {len(unused)}?"):
        typer.echo("nothing is deleted")
        return
    # A preview may have used some while the question stood.
    freed = [unused[each] for each in unused if is_old(each) and _is_removed(each)]
    typer.echo(f"{len(freed)} deleted, {disk_use.size_text(sum(freed))} freed")


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
