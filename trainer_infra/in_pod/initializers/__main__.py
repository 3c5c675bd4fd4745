"""`python -m trainer_infra.in_pod.initializers dataset|model|code [--optional]`: download onto the volume, once.

Exits with 0 when all is there, with 1 after one line that says why not, and with 143 when the pod is ended.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

from trainer_infra.in_pod.initializers.archive import unpack_archives
from trainer_infra.in_pod.initializers.download import Download
from trainer_infra.in_pod.initializers.failure import DownloadFailure, with_attempts
from trainer_infra.in_pod.initializers.folder import Done, TargetFolder
from trainer_infra.in_pod.initializers.listing import (
    FileListing,
    FileSource,
    checked_listing,
    code_listing,
)
from trainer_infra.in_pod.initializers.lock import FolderLock, LockLost
from trainer_infra.in_pod.initializers.settings import (
    KINDS,
    InitializerSettings,
    read_settings,
    take_over,
)
from trainer_infra.in_pod.initializers.sources import open_source
from trainer_infra.in_pod.initializers.storage_uri import VARIABLE
from trainer_infra.in_pod.initializers.units import bytes_text, files_text, seconds_text
from trainer_infra.in_pod.report import FILE, SERVER, report

PERIOD = 5.0
"""Seconds between two lines."""
TERMINATION_LOG = "/dev/termination-log"
LONGEST_MESSAGE = 4096
"""Bytes that a kubelet takes of a termination message."""
REMEDIES = {
    errno.EACCES: "; let user {} write the volume, with an fsGroup of the pod",
    errno.EPERM: "; let user {} write the volume, with an fsGroup of the pod",
    errno.ENAMETOOLONG: "; give it a shorter name at its source, or leave it out with IGNORE_PATTERNS",
}
"""What to do about errors of the volume, by their number; `{}` is the user."""
OWN_VOLUME = (
    "{folder.state} is ours, and a program that takes each folder for a class takes it for one: "
    "nothing beside {folder.path} is on its volume; mount the volume a folder higher"
)
OPTIONAL = "--optional"
"""Says that a URI need not be set: runtimes have both initializers for TrainJobs that want one."""
USAGE = f"usage: python -m trainer_infra.in_pod.initializers dataset|model|code [{OPTIONAL}]"


def main() -> None:
    """Do what the arguments say, and end the process, whose threads may still wait for bytes."""
    kind, *options = sys.argv[1:] or [""]
    if kind not in KINDS or options not in ([], [OPTIONAL]):
        print(USAGE, file=sys.stderr)  # noqa: T201  for who started it by hand
        os._exit(2)
    signal.signal(signal.SIGTERM, _end)
    code = 0
    if options and not os.environ.get(VARIABLE):
        _say(kind, "no URI is given; nothing to do")
    else:
        code = _fetched(kind)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _fetched(kind: str) -> int:
    """The exit code, after the one line that says why it is not 0."""
    code = 1
    try:
        fetch(read_settings(kind))
        code = 0
    except DownloadFailure as failure:
        _fail(kind, str(failure))
    except LockLost:
        _fail(
            kind, "another process has taken over, because this one seemed dead; that one goes on"
        )
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "").format(os.getuid())
        place = error.filename2 or error.filename or "the volume"
        _fail(kind, f"{place}: {error.strerror}{remedy}")
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:  # noqa: BLE001  of libraries; its text may have a secret
        traceback.print_tb(error.__traceback__)
        what = f"{type(error).__module__}.{type(error).__name__}"
        _fail(kind, f"ended by {what}; this is a bug in trainer_infra, please report it")
    return code


def fetch(settings: InitializerSettings) -> None:
    """Have all files of the URI in the target, unless they are there.

    Raises:
        DownloadFailure: It cannot be.
        LockLost: Another process has taken over.
        OSError: The volume cannot be written to.
    """
    take_over(settings.target, settings.state)
    folder = TargetFolder(settings.target, settings.identity, settings.state)
    if _is_there(settings, folder):
        return
    source = open_source(settings)
    lock = FolderLock(folder.state, f"downloading {settings.uri.shown}")
    try:
        lock.acquire(lambda text: _say(settings.kind, text))
        if _is_there(settings, folder):
            return
        listing = with_attempts(settings.attempts, source.list_files)
        if settings.kind == "code":
            listing = code_listing(settings.uri.shown, listing)
        _download(settings, source, checked_listing(settings.uri.shown, listing), folder, lock)
    finally:
        lock.release()


def _is_there(settings: InitializerSettings, folder: TargetFolder) -> bool:
    done = folder.read_done()
    if done is None or not folder.is_complete(done):
        return False
    what = f"{settings.uri.shown}{f' at {done.revision}' if done.revision else ''}"
    _say(
        settings.kind,
        f"{what} has been there since {done.finished}: {_amount(done)}; nothing to do",
    )
    report_progress(settings.kind, 100, 0)
    return True


def _download(
    settings: InitializerSettings,
    source: FileSource,
    listing: FileListing,
    folder: TargetFolder,
    lock: FolderLock,
) -> None:
    started = time.monotonic()
    download = Download(source, listing, folder, settings.attempts)
    download.start()
    at = f" at {listing.revision}" if listing.revision else ""
    here = f"; {bytes_text(download.kept)} of it are here already" if download.kept else ""
    amount = f"{files_text(len(listing.files))}, {bytes_text(listing.size)}"
    _say(settings.kind, f"downloading {settings.uri.shown}{at}: {amount}, into {folder.path}{here}")
    if folder.state.parent == folder.path and settings.kind != "code":
        _say(settings.kind, OWN_VOLUME.format(folder=folder))
    if listing.remark:
        _say(settings.kind, listing.remark)
    progress = ProgressLine(settings.kind, download)
    while not download.wait(0.5):
        lock.check()
        progress.follow()
        lock.say(f"downloading {settings.uri.shown}: {progress.text()}")
    unpacked, remarks = unpack_archives(settings.uri.shown, listing, folder, settings.patterns)
    for each in remarks:
        _say(settings.kind, each)
    lock.check()
    kept = {each.path for each in listing.files if each.unpacked is None}
    whole = {path: each for path, each in download.whole.items() if path in kept}
    done = folder.finish(listing.revision, {**whole, **unpacked}.values())
    took, speed = seconds_text(time.monotonic() - started), bytes_text(progress.speed())
    _say(settings.kind, f"done: {_amount(done)} in {took}, {speed}/s")
    report_progress(settings.kind, 100, 0)


def _amount(done: Done) -> str:
    return f"{files_text(len(done.files))}, {bytes_text(done.size)}"


def _say(kind: str, text: str) -> None:
    print(f"{kind}: {text}", flush=True)  # noqa: T201  the pod's log


def _fail(kind: str, text: str) -> None:
    """Say why, in the log and to the kubelet, which shows it in the pod's status."""
    line = f"{kind}: {text}"
    print(line, file=sys.stderr, flush=True)  # noqa: T201  the pod's log
    path = Path(os.environ.get(FILE) or TERMINATION_LOG)
    try:
        if path.exists() or FILE in os.environ:
            path.write_bytes(line.encode(errors="backslashreplace")[:LONGEST_MESSAGE])
    except OSError:
        pass  # it is in the log


def _end(number: int, _frame: FrameType | None) -> None:
    """Leave by way of the lock: a restart goes on from what is there."""
    sys.exit(128 + number)


class ProgressLine:
    """Follows one download of a `dataset`, a `model` or `code`."""

    def __init__(self, kind: str, download: Download) -> None:
        self.kind = kind
        self.download = download
        self.began = time.monotonic()
        self.due = self.began + PERIOD

    def text(self) -> str:
        """What there is to say now."""
        listing, there = self.download.listing, self.download.there
        count = f"{len(self.download.whole):,} of {files_text(len(listing.files))}"
        size = f"{bytes_text(there)} of {bytes_text(listing.size)}"
        left = self.remaining()
        rest = "" if left is None else f", about {seconds_text(left)} left"
        return f"{count}, {size}, {bytes_text(self.speed())}/s{rest}"

    def speed(self) -> float:
        """Bytes a second since the beginning."""
        return self.download.received / max(time.monotonic() - self.began, 0.001)

    def remaining(self) -> float | None:
        """Seconds until the end; None while that cannot be known."""
        left = self.download.listing.size - self.download.there
        speed = self.speed()
        return left / speed if speed and left >= 0 else None

    def follow(self) -> None:
        """Report, and say so when it is time."""
        size = self.download.listing.size
        # The last per cent is for what comes after the last byte.
        done = 99 * self.download.there / size if size else 0
        report_progress(self.kind, min(done, 99), self.remaining())
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + PERIOD
            _say(self.kind, self.text())


def report_progress(kind: str, percentage: float, remaining: float | None) -> None:
    """Tell the controller, if there is one: `report` prints what has no receiver, and we print lines of our own."""
    if os.environ.get(SERVER) or os.environ.get(FILE):
        report(progress=percentage, remaining=remaining, initializer=kind)


if __name__ == "__main__":
    main()
