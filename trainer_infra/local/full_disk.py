"""When the disk is full or not to be written: how it is recognised, and what the message says. Pure."""

import errno
from pathlib import Path
from typing import Final

from trainer_infra import names

ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


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
