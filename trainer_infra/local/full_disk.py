"""When the disk is full: how it is recognised and what a user is told. Pure."""

import errno
from pathlib import Path
from typing import Final

from trainer_infra import names

ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def is_full(error: OSError) -> bool:
    """Whether this error means that there is no room left."""
    return error.errno in ERRORS


def message(path: Path, error: OSError) -> str:
    """What a user reads."""
    return (
        f"writing {path} failed: {error.strerror}; free space there, or set {names.STATE_HOME} to "
        "a folder on another disk, and run again"
    )
