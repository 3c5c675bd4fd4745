"""Where runs live on disk: one folder per run, written atomically, with one lock per run."""

import fcntl
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil

from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.home_folders import state_home
from trainer_infra.local import disk_use

RESERVE: Final = 256 * 1024
"""Bytes set aside in a run's folder, so that the status can be written when the disk is full."""
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def write_json(path: Path, value: object) -> None:
    """Replace a JSON file in one step, mode 0600: a reader sees the old or the new, never half."""
    text = json.dumps(value, ensure_ascii=False)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> Any | None:
    """The JSON of a file; None when there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None


class RunFolder:
    """The paths of one run: the folder itself is `<home>/runs/<namespace>/<name>`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.namespace, self.name = path.parts[-2:]
        self.run = path / "run.json"
        """The `Run` as submitted; its owner changes when another one adopts it."""
        self.record = path / "record.json"
        """What was submitted; written once."""
        self.status = path / "status.json"
        """What is known now: a `Run`. Written by the supervisor, its guard, or `runs.get`."""
        self.control = path / "control.json"
        """What the user wants now: `{"suspend": bool}`."""
        self.secrets = path / "secrets.json"
        """Key to value of the job's own Secret."""
        self.identities = path / "supervisor.json"
        """Process identities: `{"supervisor": ..., "guard": ...}`."""
        self.lock = path / "supervisor.lock"
        """Locked as long as the supervisor or its guard lives."""
        self.output = path / "supervisor.log"
        """What the supervisor itself says: empty, or a traceback."""
        self.reserve = path / "reserve"
        """The bytes set aside."""
        self.logs = path / "logs"
        """One log file per pod."""
        self.pods = path / "pods"
        """One folder per try of a pod."""
        self.claims = path / "claims"
        """One folder per volume claim."""
        self.metrics = path / "metrics.jsonl"
        """What its training reported, a JSON line per report: `metrics_file`."""
        self.progress = path / "progress"
        """The progress endpoint's certificate and one token per pod."""


def folder_of(namespace: str, name: str) -> RunFolder:
    """The folder of a run, whether it exists or not.

    Raises:
        InvalidInput: Namespace or name is not a DNS name.
    """
    checked = (("metadata.namespace", namespace), ("metadata.name", name))
    found = [
        Problem(path, "is not a DNS name", got=value, fix="use a-z, 0-9 and '-'")
        for path, value in checked
        if not _LABEL.fullmatch(value)
    ]
    if found:
        raise InvalidInput(found)
    return RunFolder(state_home() / "runs" / namespace / name)


def existing_folders(namespace: str | None = None) -> tuple[RunFolder, ...]:
    """The folders of all runs, by namespace and name."""
    pattern = f"{namespace or '[!.]*'}/*/run.json"
    return tuple(RunFolder(path.parent) for path in sorted((state_home() / "runs").glob(pattern)))


def create_folder(
    target: RunFolder, run: Mapping[str, Any], record: Mapping[str, Any], secrets: Mapping[str, str]
) -> None:
    """Make a run's folder in one step: it is there with its record, or not at all."""
    runs = state_home() / "runs"
    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.path.parent.mkdir(mode=0o700, exist_ok=True)
    # Remove what a killed submit left behind: it may hold secrets.
    for left in runs.glob(".new-*"):
        if not psutil.pid_exists(int(left.name.split("-")[1])):
            shutil.rmtree(left, ignore_errors=True)
    made = RunFolder(Path(tempfile.mkdtemp(dir=runs, prefix=f".new-{os.getpid()}-")))
    try:
        for part in (made.logs, made.pods, made.claims, made.progress):
            part.mkdir(mode=0o700)
        write_json(made.secrets, dict(secrets))
        write_json(made.record, dict(record))
        write_json(made.run, dict(run))
        made.reserve.write_bytes(bytes(RESERVE))
        made.path.rename(target.path)
    except BaseException:
        shutil.rmtree(made.path, ignore_errors=True)
        raise


def remove_folder(target: RunFolder) -> None:
    """Remove a run's folder: it is gone in one step, its files follow.

    Files that an interrupted removal left behind are removed as well.
    """
    runs = state_home() / "runs"
    with suppress(FileNotFoundError):
        # Straight to a name of its own: a folder made for it might be swept by another removal.
        target.path.rename(runs / f".gone-{uuid.uuid4().hex}")
    for left in runs.glob(".gone-*"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def locked_folder(target: RunFolder) -> Iterator[None]:
    """Hold the lock of one run's name, so that submit and delete do not meet half way.

    Raises:
        NotAvailable: The state folder cannot be written.
    """
    locks = state_home() / "locks"
    path = locks / f"{target.namespace}.{target.name}"
    try:
        locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        while (handle := hold_file(path, fcntl.LOCK_EX)) is None:
            pass
    except OSError as error:
        raise NotAvailable(disk_use.not_written(locks, error)) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def hold_file(path: Path, kind: int) -> int | None:
    """A handle that holds the lock of a file, which is made where it is missing, as long as it is open.

    None where another process removed the file meanwhile, or with `fcntl.LOCK_NB` where others hold it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(handle, kind)
        if os.fstat(handle).st_ino == path.stat().st_ino:
            return handle
    os.close(handle)
    return None


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only this user may read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def is_supervised(target: RunFolder) -> bool:
    """Whether a supervisor, or the guard that cleans up after it, lives."""
    try:
        handle = os.open(target.lock, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)
