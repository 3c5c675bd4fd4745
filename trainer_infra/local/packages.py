"""The Python of a job: a virtual environment per hash of its locked packages, made once.

Without packages it is the interpreter that submitted. A venv does not move, so it is made in its
place and a marker is written last; one without the marker is made anew. Two jobs at a time wait for
one install. Beside the folder are its log, which outlives an installation that fails, and its lock:
exclusive while it is made or removed, shared by every supervisor that uses it, as long as that
lives.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from trainer_infra import home_folders
from trainer_infra.local import installation, run_folder
from trainer_infra.local.children import Children

MARKER: Final = "ready"
"""File of a whole environment; its time is when a run last began with it."""
_PAUSE: Final = 0.1


def python_variables(venv: Path | None) -> dict[str, str]:
    """PATH and VIRTUAL_ENV with which `python` and `torchrun` are those of the job."""
    bin_folder = Path(sys.executable).parent if venv is None else venv / "bin"
    path = f"{bin_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path} if venv is None else {"PATH": path, "VIRTUAL_ENV": str(venv)}


def environments_home() -> Path:
    """The folder of all environments."""
    return home_folders.cache_home() / "venvs"


def environment_folder(packages: Sequence[str]) -> Path:
    """The folder of the virtual environment with these packages."""
    content = json.dumps([sorted(packages), platform.python_version(), sys.base_prefix])
    return environments_home() / hashlib.sha256(content.encode()).hexdigest()[:16]


def is_whole(venv: Path) -> bool:
    """Whether an environment was installed to its end."""
    return (venv / MARKER).exists()


async def ready_environment(packages: Sequence[str], children: Children, mark: str) -> Path | None:
    """The virtual environment with these packages, installed when it is not there yet.

    This process holds its lock until it ends, so that no collection removes it meanwhile.
    """
    if not packages:
        return None
    venv = environment_folder(packages)
    venv.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        handle = await _held(venv, fcntl.LOCK_SH)
        if is_whole(venv):
            os.utime(venv / MARKER)
            return venv
        os.close(handle)
        handle = await _held(venv, fcntl.LOCK_EX)
        try:
            if not is_whole(venv):
                await installation.make_environment(venv, packages, children, mark)
                (venv / MARKER).touch()
        finally:
            os.close(handle)


async def _held(venv: Path, kind: int) -> int:
    while True:
        handle = hold_environment(venv, kind)
        if handle is not None:
            return handle
        await asyncio.sleep(_PAUSE)


def hold_environment(venv: Path, kind: int) -> int | None:
    """A handle that holds an environment's lock as long as it is open; None while others hold it.

    The kind is `fcntl.LOCK_SH` to use it, `fcntl.LOCK_EX` to make or remove it with the lock's file.
    """
    return run_folder.hold_file(environment_lock(venv), kind | fcntl.LOCK_NB)


def environment_lock(venv: Path) -> Path:
    """The file that is locked for an environment."""
    return venv.with_suffix(".lock")
