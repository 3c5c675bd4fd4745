"""`trainer-infra gc --cache`: virtual environments of packages that no run uses.

What a run uses, or what is being installed, stays.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

import typer

from trainer_infra.cli import screen, table
from trainer_infra.cli.screen import Screen
from trainer_infra.cli.table import Column
from trainer_infra.local import disk_use, environments, packages
from trainer_infra.local.environments import FAILED, UNFINISHED, PythonEnvironment
from trainer_infra.runs import sentences

COLUMNS: Final = (
    Column("ENVIRONMENT"),
    Column("STATE", styles={FAILED: "bold red", UNFINISHED: "yellow"}),
    Column("SIZE"),
    Column("USED"),
    Column("PACKAGES", folds=True),
)


def collect(older_than: float | None, *, confirmed: bool) -> None:
    """List the environments that no run uses, ask, and remove them.

    Args:
        older_than: only those that were last used this many seconds ago; None for all.
        confirmed: whether to remove without asking.
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
    typer.echo("\n".join(_table(unused, screen.screen_of_stdout())))
    if not confirmed and not typer.confirm(f"Delete {len(unused)}?"):
        typer.echo("nothing is deleted")
        return
    _remove(unused)


def _table(unused: Sequence[PythonEnvironment], shown: Screen) -> Iterator[str]:
    rows = [
        (
            each.path.name,
            each.state,
            disk_use.size_text(disk_use.size_of(each.path)),
            f"{sentences.duration_shown(time.time() - each.used)} ago",
            each.packages,
        )
        for each in unused
    ]
    return table.table_lines(COLUMNS, rows, shown)


def _remove(unused: Sequence[PythonEnvironment]) -> None:
    paths = [each.path for each in unused]
    size, freed = sum(map(disk_use.size_of, paths)), disk_use.bytes_freed(paths)
    gone = []
    for each in unused:
        if environments.remove_environment(each):
            gone.append(each)
        else:
            typer.echo(f"{each.path.name} is left alone: it is used by now", err=True)
    left = disk_use.bytes_freed([path for path in paths if path.exists()])
    typer.echo(f"{len(gone)} deleted, {disk_use.size_text(freed - left)} freed")
    shared = size - freed
    if shared:
        typer.echo(
            f"{disk_use.size_text(shared)} of their files stay, in uv's cache or in other environments; "
            "`uv cache clean` empties that cache"
        )
