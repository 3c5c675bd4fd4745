"""The Python of a job: a virtual environment per hash of its locked packages, made once.

Called by the supervisor before the first pod. Without packages it is the interpreter that submitted.
A venv does not move, so it is made in its place and a marker is written last; one without the
marker is made anew. Two jobs at a time wait for one install.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.errors import NotAvailable
from trainer_infra.local import env, folder
from trainer_infra.local.children import Children, Command

MARKER: Final = "ready"
ERROR_LINES: Final = 3
"""How many of pip's error lines a message has."""


def variables(venv: Path | None) -> dict[str, str]:
    """PATH and VIRTUAL_ENV with which `python` and `torchrun` are those of the job."""
    bin_folder = Path(sys.executable).parent if venv is None else venv / "bin"
    path = f"{bin_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path} if venv is None else {"PATH": path, "VIRTUAL_ENV": str(venv)}


def place(packages: Sequence[str]) -> Path:
    """The folder of the virtual environment with these packages."""
    content = json.dumps([sorted(packages), platform.python_version(), sys.base_prefix])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return folder.cache() / "venvs" / digest


async def ready(packages: Sequence[str], children: Children, mark: str) -> Path | None:
    """The virtual environment with these packages, installed when it is not there yet.

    Raises:
        NotAvailable: pip failed; the message has its last error lines.
    """
    if not packages:
        return None
    venv = place(packages)
    if (venv / MARKER).exists():
        return venv
    venv.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with _locked(venv.with_suffix(".lock")):
        if not (venv / MARKER).exists():
            await _install(venv, packages, children, mark)
    return venv


@asynccontextmanager
async def _locked(path: Path) -> AsyncIterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.1)
        yield
    finally:
        os.close(handle)


async def _install(venv: Path, packages: Sequence[str], children: Children, mark: str) -> None:
    environment = env.inherited(*env.INSTALLERS) | {names.PROCESS_MARK: f"{mark}/packages"}
    log = venv / "install.log"
    for arguments in _begin(venv, packages):
        code = await _run(arguments, environment, log, children)
        if code != 0:
            raise NotAvailable(_failure(packages, log, code))
    (venv / MARKER).touch()


def _begin(venv: Path, packages: Sequence[str]) -> tuple[list[str], list[str]]:
    """Make an empty folder; the commands that make the virtual environment in it.

    pip of this interpreter installs into it, if it has one: copying pip takes seconds.
    """
    shutil.rmtree(venv, ignore_errors=True)
    venv.mkdir(mode=0o700)
    own_pip = find_spec("pip") is not None
    make = [sys.executable, "-m", "venv", *(["--without-pip"] if own_pip else []), str(venv)]
    python = str(venv / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python] if own_pip else [python, "-m", "pip"]
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    return make, [*pip, "install", *options, *packages]


async def _run(
    arguments: list[str], environment: Mapping[str, str], log: Path, children: Children
) -> int:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = children.start(Command(arguments, environment, log.parent), handle)
    finally:
        os.close(handle)
    return await asyncio.shield(child.exit)


def _failure(packages: Sequence[str], log: Path, code: int) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    said = " ".join(line.strip() for line in errors[-ERROR_LINES:])
    return (
        f"installing {', '.join(sorted(packages))} failed: pip exited with {code}: {said} "
        f"(all of its output is in {log})"
    )
