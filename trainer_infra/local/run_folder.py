"""Where runs live on disk: one folder per run, written atomically, with one lock per run.

Layout of `<home>/runs/<namespace>/<name>/`: run.json (who and when), record.json (what was
submitted), status.json (what is known now), control.json (what the user wants now), secrets.json,
supervisor.json (process identities), supervisor.lock (held while a supervisor lives), metrics.jsonl
(what training reported), logs/<pod>.log, pods/, claims/.
"""

import fcntl
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The paths of one run."""

    path: Path
    """The folder itself, `<home>/runs/<namespace>/<name>`."""

    @property
    def run(self) -> Path:
        """The `Run` as submitted; its owner changes when another one adopts it."""
        return self.path / "run.json"

    @property
    def record(self) -> Path:
        """What was submitted; written once."""
        return self.path / "record.json"

    @property
    def status(self) -> Path:
        """What is known now: a `Run`. Written by the supervisor, its guard, or `runs.get`."""
        return self.path / "status.json"

    @property
    def control(self) -> Path:
        """What the user wants now: `{"suspend": bool}`."""
        return self.path / "control.json"

    @property
    def secrets(self) -> Path:
        """Key to value of the job's own Secret."""
        return self.path / "secrets.json"

    @property
    def identities(self) -> Path:
        """Process identities: `{"supervisor": ..., "guard": ...}`."""
        return self.path / "supervisor.json"

    @property
    def lock(self) -> Path:
        """Locked as long as the supervisor or its guard lives."""
        return self.path / "supervisor.lock"

    @property
    def output(self) -> Path:
        """What the supervisor itself says: empty, or a traceback."""
        return self.path / "supervisor.log"

    @property
    def reserve(self) -> Path:
        """The bytes set aside."""
        return self.path / "reserve"

    @property
    def logs(self) -> Path:
        """One log file per pod."""
        return self.path / "logs"

    @property
    def pods(self) -> Path:
        """One folder per try of a pod."""
        return self.path / "pods"

    @property
    def claims(self) -> Path:
        """One folder per volume claim."""
        return self.path / "claims"

    @property
    def metrics(self) -> Path:
        """What its training reported, a JSON line per report: `metrics_file`."""
        return self.path / "metrics.jsonl"

    @property
    def progress(self) -> Path:
        """The progress endpoint's certificate and one token per pod."""
        return self.path / "progress"


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
    target: RunFolder,
    run: Mapping[str, Any],
    record: Mapping[str, Any],
    secrets: Mapping[str, str],
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
    path = locks / f"{target.path.parent.name}.{target.path.name}"
    try:
        locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _hold(path)
    except OSError as error:
        raise NotAvailable(disk_use.not_written(locks, error)) from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _hold(path: Path) -> int:
    """An exclusively locked handle of a file that no process removed meanwhile."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        os.close(handle)


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
