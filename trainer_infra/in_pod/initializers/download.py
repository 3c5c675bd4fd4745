"""Fetches the files of a listing by several connections at once, big files in parts.

What a connection that breaks has brought is kept; a file gets its name when its size and, where the
source has one, its checksum are right. The first failure ends all of it.
"""

from __future__ import annotations

import errno
import os
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainer_infra.in_pod.initializers.failure import DownloadFailure, pause
from trainer_infra.in_pod.initializers.folder import BLOCK, PART, DonePart, TargetFolder, WholeFile
from trainer_infra.in_pod.initializers.listing import Checksum, FileListing, FileSource, RemoteFile
from trainer_infra.in_pod.initializers.units import bytes_text

CONNECTIONS = 16
NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True)
class Task:
    """What one thread does at a time: a whole file, or a part of a big one."""

    file: RemoteFile
    start: int = 0
    end: int | None = None
    """The byte after its last one; None where the file's size is not known."""
    is_part: bool = False


class Download:
    """One download into a folder; a request that fails for a reason which may pass is sent `attempts` times."""

    def __init__(
        self, source: FileSource, listing: FileListing, folder: TargetFolder, attempts: int
    ) -> None:
        self.source = source
        self.listing = listing
        self.folder = folder
        self.attempts = attempts
        self.mutex = threading.Lock()
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.tasks: deque[Task] = deque()
        self.sums: dict[str, dict[int, int]] = {}
        self.whole: dict[str, WholeFile] = {}
        self.received = 0
        self.kept = 0
        self.threads: list[threading.Thread] = []

    def start(self) -> None:
        """Find out what is there, and begin to fetch the rest.

        Raises:
            DownloadFailure: The rest does not fit.
            OSError: The folder cannot be written to.
        """
        self.whole, parts = self.folder.begin(self.listing)
        there: dict[str, dict[int, int]] = {}
        for each in parts:
            there.setdefault(each.path, {})[each.index] = each.sum
        self.kept = sum(each.size for each in self.whole.values())
        for file in self.listing.files:
            if file.path not in self.whole:
                self._plan(file, there.get(file.path, {}))
        self._check_space()
        for _ in range(min(CONNECTIONS, len(self.tasks))):
            thread = threading.Thread(target=self._work, daemon=True)
            self.threads.append(thread)
            thread.start()

    @property
    def there(self) -> int:
        """Bytes that are here by now."""
        return self.kept + self.received

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether all is there.

        Raises:
            DownloadFailure: A file could not be fetched.
            OSError: It could not be written.
        """
        alive = [each for each in self.threads if each.is_alive()]
        for each in alive:
            each.join(seconds / len(alive))
        if self.failure:
            raise self.failure
        return not any(each.is_alive() for each in alive)

    def _plan(self, file: RemoteFile, there: dict[int, int]) -> None:
        """Add what is to be done for a file, of which these parts are there."""
        if file.size is None or file.size <= PART or not file.resumes:
            self.tasks.append(Task(file, 0, file.size))
            return
        parts = [
            Task(file, start, min(file.size, start + PART), is_part=True)
            for start in range(0, file.size, PART)
        ]
        self.sums[file.path] = there
        missing = [each for each in parts if each.start // PART not in there]
        self.kept += file.size - sum((each.end or 0) - each.start for each in missing)
        # With all parts there, what is left is to see that the file is right.
        self.tasks.extend(missing or [Task(file, file.size, file.size, is_part=True)])

    def _check_space(self) -> None:
        needed = self.listing.size - self.kept
        system = os.statvfs(self.folder.path)
        free = system.f_bavail * system.f_frsize
        if needed > free:
            what = f"{bytes_text(needed)} are to come and {bytes_text(free)} are free"
            raise no_space(self.folder.path, what)

    def _work(self) -> None:
        try:
            while (task := self._next()) is not None:
                if task.is_part:
                    self._fetch_part(task)
                else:
                    self._fetch_file(task)
        except BaseException as error:  # noqa: BLE001  `wait` raises it
            if isinstance(error, OSError) and error.errno in NO_SPACE:
                error = no_space(self.folder.path, f"after {bytes_text(self.there)}")
            with self.mutex:
                self.failure = self.failure or error
            self.stop.set()

    def _next(self) -> Task | None:
        with self.mutex:
            return self.tasks.popleft() if self.tasks and not self.stop.is_set() else None

    def _fetch_file(self, task: Task) -> None:
        """Fetch a file in one go; its sums are taken as it comes by."""
        sums = _Sums(task.file)
        with _opened(self.folder.partial_path(task.file)) as file:
            for offset, data in self._blocks(task):
                if offset == 0:
                    sums = _Sums(task.file)
                self._put(task.file, file, data, offset)
                sums.add(data)
            if task.file.size is None:
                os.ftruncate(file, sums.size)
        self._finish(task.file, sums)

    def _fetch_part(self, task: Task) -> None:
        """Fetch a part; the thread that does so last sees whether the whole is right."""
        if task.start != task.end:
            index, found = task.start // PART, 0
            with _opened(self.folder.partial_path(task.file)) as file:
                for offset, data in self._blocks(task):
                    self._put(task.file, file, data, offset)
                    found = zlib.crc32(data, found)
            part = DonePart(task.file.path, task.file.version, index, found)
            self.folder.keep_part(part)
            with self.mutex:
                self.sums[task.file.path][index] = found
                if len(self.sums[task.file.path]) < -(-(task.file.size or 0) // PART):
                    return
        self._finish(task.file, self._sums_of_parts(task.file))

    def _sums_of_parts(self, file: RemoteFile) -> _Sums:
        """The sums of a big file; it is read again only if its source has a checksum."""
        path, sums = self.folder.partial_path(file), _Sums(file)
        if not file.checksum:
            sums.size = path.stat().st_size
            sums.parts = [each for _, each in sorted(self.sums[file.path].items())]
            return sums
        with path.open("rb") as content:
            while data := content.read(BLOCK):
                sums.add(data)
        return sums

    def _blocks(self, task: Task) -> Iterator[tuple[int, bytes]]:
        """What a source sends, with its offset; goes on where a connection broke."""
        position, tries = task.start, 0
        while position != task.end:
            try:
                for data in self._stream(task, position):
                    yield position, data
                    position += len(data)
                    tries = 0
                if task.end is None:
                    return
            except DownloadFailure as failure:  # noqa: PERF203  a request takes longer
                tries += 1
                if not failure.may_pass or tries >= self.attempts or self.stop.is_set():
                    raise
                if not task.file.resumes:
                    with self.mutex:
                        self.received -= position - task.start
                    position = task.start
                self.stop.wait(pause(tries))

    def _stream(self, task: Task, start: int) -> Iterator[bytes]:
        """What one request brings; it is counted.

        Raises:
            DownloadFailure: It is too little or too much, or another thread has failed.
        """
        size = 0
        for data in self.source.read(task.file, start, task.end):
            if self.stop.is_set():
                raise DownloadFailure(task.file.path, "is not needed any more")
            size += len(data)
            with self.mutex:
                self.received += len(data)
            yield data
        if task.end is not None and start + size != task.end:
            cause = f"the server sent {size:,} bytes instead of {task.end - start:,}"
            raise DownloadFailure(task.file.path, cause, may_pass=start + size < task.end)

    def _put(self, file: RemoteFile, target: int, data: bytes, offset: int) -> None:
        """Have a block in the target: shared with the source, or written."""
        shared = self.source.share(file, target, offset, len(data))
        _write(target, data[shared:], offset + shared)

    def _finish(self, file: RemoteFile, sums: _Sums) -> None:
        """Give a file its name, or raise why it is not right."""
        wrong = sums.checksum.difference()
        if file.size is not None and sums.size != file.size:
            wrong = f"has {sums.size:,} bytes and should have {file.size:,}"
        elif wrong and not self.source.vouches_for(file):
            wrong = ""
        if wrong:
            self.folder.partial_path(file).unlink()
            raise DownloadFailure(
                file.path,
                f"arrived damaged: {wrong}",
                "start again; if it stays so, the file at its source is damaged",
            )
        whole = WholeFile(file.path, file.version, sums.size, tuple(sums.parts))
        self.folder.move_in(file, whole)
        with self.mutex:
            self.whole[file.path] = whole


class _Sums:
    """Size, CRC-32 of each part and checksum of a content that comes by in order."""

    def __init__(self, file: RemoteFile) -> None:
        self.size = 0
        self.parts: list[int] = []
        self.checksum = Checksum(file.checksum, file.size or 0)

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.checksum.update(data)
        left = memoryview(data)
        while left:
            if self.size % PART == 0:
                self.parts.append(0)
            head = left[: PART - self.size % PART]
            self.parts[-1] = zlib.crc32(head, self.parts[-1])
            self.size += len(head)
            left = left[len(head) :]


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(file: int, data: bytes, offset: int) -> None:
    """Write all of it: a disk that gets full takes a part, and refuses the next one."""
    left = memoryview(data)
    while left:
        count = os.pwrite(file, left, offset)
        left, offset = left[count:], offset + count


def no_space(path: Path, what: str) -> DownloadFailure:
    """Why a download does not fit."""
    return DownloadFailure(
        str(path),
        f"no space left: {what}",
        "use a larger volume, or leave files out with IGNORE_PATTERNS",
    )
