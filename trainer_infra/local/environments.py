"""The virtual environments of this machine: which there are, who uses them, and away with them.

What else is in the cache folder (the built Pulumi CLI, a cluster) is not one of them.
"""

import fcntl
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.local import installation, packages, processes, run_folder, runs
from trainer_infra.runs.run import FINISHED

READY: Final = "ready"
UNFINISHED: Final = "unfinished"
FAILED: Final = "failed"


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """One set of packages."""

    path: Path
    """Its folder; a failed one has none any more."""
    packages: str
    """Separated by commas; empty where an earlier release made it."""
    state: str
    """`ready`; `unfinished`, when its installation was killed; `failed`, when only a log is left."""
    used: float
    """When a run last began with it, or its installation did; seconds since the epoch."""
    user: str
    """Who uses it now; empty when it may be removed."""


def every_environment() -> tuple[PythonEnvironment, ...]:
    """All environments, the one that was used last at the end."""
    home = packages.environments_home()
    names = {path.stem for path in home.glob("[!.]*")} if home.exists() else set()
    users = _users()
    found = (_environment(home / name, users) for name in names)
    return tuple(sorted((each for each in found if each), key=lambda each: each.used))


def remove_environment(environment: PythonEnvironment) -> bool:
    """Remove one with its log; False when it is used by now."""
    home, path = packages.environments_home(), environment.path
    handle = packages.hold_environment(path, fcntl.LOCK_EX)
    if handle is None:
        return False
    try:
        gone = home / f".gone-{uuid.uuid4().hex}"
        if path.exists():
            path.rename(gone)
        installation.installation_log(path).unlink(missing_ok=True)
        packages.environment_lock(path).unlink(missing_ok=True)
    finally:
        os.close(handle)
    for left in home.glob(".gone-*"):
        shutil.rmtree(left, ignore_errors=True)
    return True


def _environment(path: Path, users: Mapping[Path, str]) -> PythonEnvironment | None:
    """What there is under a name; None for a lock alone."""
    log = installation.installation_log(path)
    if packages.is_whole(path):
        state, seen = READY, path / packages.MARKER
    elif path.exists():
        state, seen = UNFINISHED, path
    elif log.exists():
        state, seen = FAILED, log
    else:
        return None
    wanted = installation.package_names(path)
    return PythonEnvironment(path, wanted, state, seen.stat().st_mtime, _user(path, users))


def _user(path: Path, users: Mapping[Path, str]) -> str:
    handle = packages.hold_environment(path, fcntl.LOCK_EX)
    if handle is None:
        shared = packages.hold_environment(path, fcntl.LOCK_SH)
        if shared is None:
            return "it is being installed"
        os.close(shared)
        return users.get(path, "a run uses it")
    os.close(handle)
    return users.get(path, "")


def _users() -> Mapping[Path, str]:
    """Environments that are used whatever their locks say: an earlier release held none.

    Those of processes, which may be of runs in another state folder, and those of this folder's runs
    that have not ended.
    """
    users = {Path(each): "a process runs in it" for each in processes.virtual_environments()}
    for run in runs.list_runs().runs:
        if run.phase in FINISHED:
            continue
        record = run_folder.read_json(run_folder.folder_of(run.namespace, run.name).record) or {}
        if record.get("packages"):
            users[packages.environment_folder(record["packages"])] = (
                f"run {run.namespace}/{run.name} uses it"
            )
    return users
