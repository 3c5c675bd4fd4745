"""Where an initializer keeps its own files: beside the target, for programs take each folder in it for a class."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path

from trainer_infra.in_pod.initializers.listing import STATE

MOUNTS = Path("/proc/self/mountinfo")
"""Linux's list of what is mounted where: a folder of the same disk can be mounted, too."""
POINT = 4
"""The field of its lines that has the path, with blanks and the like in octal."""
NOT_EMPTY = {errno.ENOTEMPTY, errno.EEXIST}


def state_folder(target: Path, above: Path) -> Path:
    """`.trainer-infra-NAME` beside the target, or `.trainer-infra` in it where what is beside it is not kept with it.

    Each target has its own: initializers of one volume may be of several users.

    Args:
        target: the folder of the files.
        above: where a volume that is mounted above the target has its files.
    """
    is_alone = (
        target.parent != above
        or target.is_symlink()
        or is_mount_point(target)
        or (target.is_dir() and not os.access(above, os.W_OK, effective_ids=True))
    )
    return target / STATE if is_alone else above / f"{STATE}-{target.name}"


def is_mount_point(folder: Path) -> bool:
    """Whether a volume is mounted at this very folder."""
    if os.path.ismount(folder):
        return True
    with contextlib.suppress(OSError):
        points = {line.split()[POINT] for line in MOUNTS.read_bytes().splitlines()}
        return os.path.realpath(folder).encode(errors="surrogateescape") in points
    return False


def take_over(target: Path, state: Path) -> None:
    """Move to its place what an older release kept in the target: a download goes on where it was.

    A process of that release which still works there loses its lock by it, and ends.

    Raises:
        OSError: The volume cannot be written to.
    """
    older = target / STATE
    if state == older or not older.is_dir():
        return
    try:
        _move(older, state)
    except OSError as error:
        if error.errno not in NOT_EMPTY:
            raise
        # An older release worked here after this one: what it left is the newer one.
        shutil.rmtree(state)
        _move(older, state)


def _move(older: Path, state: Path) -> None:
    # Another process may have moved it.
    with contextlib.suppress(FileNotFoundError):
        older.rename(state)
