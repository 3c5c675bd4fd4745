"""What folders take on the disk, and what a full one means."""

import errno
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from trainer_infra import names

ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def size_of(path: Path) -> int:
    """Bytes of a file, or of the files below a folder; 0 when there is none."""
    return sum(each.st_blocks * 512 for each in _files(path))


def bytes_freed(folders: Sequence[Path]) -> int:
    """Bytes that are free once these folders are removed.

    A file with several names, as uv links them from its cache, is counted when all of them go.
    """
    links: dict[tuple[int, int], int] = defaultdict(int)
    files = {}
    for folder in folders:
        for each in _files(folder):
            key = (each.st_dev, each.st_ino)
            links[key] += 1
            files[key] = each
    return sum(each.st_blocks * 512 for key, each in files.items() if links[key] >= each.st_nlink)


def size_text(size: int) -> str:
    """Bytes as a person reads them: `5.3 GB`, `310.4 MB`, `12.0 kB`."""
    for unit, each in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= each:
            return f"{size / each:.1f} {unit}"
    return f"{size} B"


def _files(folder: Path) -> Iterator[os.stat_result]:
    """A file, or each below a folder, as far as it does not go meanwhile."""
    if folder.is_file():
        yield folder.lstat()
    for path, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                yield (Path(path) / name).lstat()


def is_full(error: OSError) -> bool:
    """Whether this error means that there is no room left."""
    return error.errno in ERRORS


def full_disk_message(path: Path, error: OSError) -> str:
    """What a user reads."""
    return (
        f"writing {path} failed: {error.strerror}; free space there, or set {names.STATE_HOME} to "
        "a folder on another disk, and run again"
    )


def not_written(path: Path, error: OSError) -> str:
    """What a user reads of a state folder that cannot be written, full or not."""
    if is_full(error):
        return full_disk_message(path, error)
    return (
        f"the folder of the runs cannot be written: {error.filename or path}: {error.strerror}; "
        f"set {names.STATE_HOME} to a folder that you may write, and run again"
    )
