"""The folders of this user that we write to: the state of runs, and what can be made again."""

import os
from pathlib import Path

from trainer_infra import names


def state_home() -> Path:
    """The state folder: TRAINER_INFRA_HOME, else XDG_STATE_HOME, else ~/.local/state."""
    return _base(names.STATE_HOME, "XDG_STATE_HOME", ".local/state")


def cache_home() -> Path:
    """The cache folder: TRAINER_INFRA_CACHE, else XDG_CACHE_HOME, else ~/.cache."""
    return _base(names.CACHE_HOME, "XDG_CACHE_HOME", ".cache")


def _base(own: str, xdg: str, default: str) -> Path:
    if os.environ.get(own):
        return Path(os.environ[own]).absolute()
    return Path(os.environ.get(xdg) or Path.home() / default).absolute() / "trainer-infra"
