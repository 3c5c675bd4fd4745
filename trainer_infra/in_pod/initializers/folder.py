"""The target folder: what is there already, what is half there, and the moves that make a file whole.

Of its own it has a folder, `settings.state_folder`, with

    done      JSON: input, revision and files, once all are there; its absence means work
    journal   JSON lines: the input, then each part and each file that is on the disk; what is in neither is not ours
    partial/  files that are not whole yet
    archives/ tars that are to be unpacked, which listings call `.trainer-infra/archives/NAME`

After a crash of the machine the journal may know more than the disk has: if another kernel wrote it, a part or file
counts only if its CRC-32 is that of the journal.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import STATE, FileListing, RemoteFile
from trainer_infra.in_pod.initializers.lock import boot_id

PART = 16 << 20
"""Bytes of a part of a big file: what one connection may have to transfer twice."""
BLOCK = 1 << 18
"""Bytes that are read at once: of larger ones the allocator gives each back to the kernel, which takes as long."""
UNPACKED = "unpacked"
"""The version of a file that came out of an archive."""


@dataclass(frozen=True)
class WholeFile:
    """A file that we wrote."""

    path: str
    version: str
    """As `RemoteFile.version`, or `UNPACKED`."""
    size: int
    sums: tuple[int, ...]
    """CRC-32 of each part."""


@dataclass(frozen=True)
class DonePart:
    """A part of a file that is not whole yet."""

    path: str
    version: str
    index: int
    sum: int
    """CRC-32."""


@dataclass(frozen=True)
class Done:
    """A download that is complete."""

    input: Mapping[str, Any]
    revision: str
    files: tuple[WholeFile, ...]
    finished: str
    """When, in UTC."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(each.size for each in self.files)


@dataclass
class _Record:
    """What `done` and `journal` say is on the disk."""

    files: dict[str, WholeFile]
    parts: list[DonePart]
    is_same_input: bool
    is_on_disk: bool = True
    """Whether nothing of it can be lost: it was flushed, or the same kernel runs still."""


class TargetFolder:
    """A folder and our state in it. Methods raise OSError where the file system does.

    `identity` is the input's, as `InitializerSettings.identity`; `state` is the folder of our own.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], state: Path) -> None:
        self.path = path
        self.identity = identity
        self.state = state
        self.partial = self.state / "partial"
        self.mutex = threading.Lock()
        self.journal = -1
        self.made: set[Path] = set()

    def place(self, path: str) -> Path:
        """Where a file of a listing is: an archive of ours is not a file of the target."""
        archive = path.removeprefix(f"{STATE}/")
        return self.path / path if archive == path else self.state / archive

    def read_done(self) -> Done | None:
        """What the last download left; None while there is none, or where it is damaged."""
        try:
            found = json.loads((self.state / "done").read_text("utf-8"))
            files = tuple(_whole_file(each) for each in found["files"])
            return Done(found["input"], found["revision"], files, found["finished"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def is_complete(self, done: Done) -> bool:
        """Whether the same input was downloaded and every file still has its size."""
        return done.input == self.identity and all(
            file_size(self.place(each.path)) == each.size for each in done.files
        )

    def begin(self, listing: FileListing) -> tuple[dict[str, WholeFile], list[DonePart]]:
        """Keep what is there of this listing, remove what we wrote for another, and start the journal.

        Returns:
            The files that are whole, by path, and the parts of others that are on the disk.

        Raises:
            DownloadFailure: The target is a file.
        """
        known = self._known()
        wanted = {each.path: each for each in listing.files}
        kept = {
            each.path: each
            for each in known.files.values()
            if _is_same(wanted.get(each.path), each, known)
            and not self.partial_path(wanted[each.path]).exists()
            and self._is_intact(each, known)
        }
        parts = [
            each
            for each in known.parts
            if _is_same(wanted.get(each.path), each, known)
            and _has_part(self.partial_path(wanted[each.path]), each, known)
        ]
        resumed = {self.partial_path(wanted[each.path]) for each in parts}
        self._write_journal([*known.files.values(), *kept.values()], parts)
        (self.state / "done").unlink(missing_ok=True)
        self.remove(each for each in known.files if each not in kept)
        self.partial.mkdir(parents=True, exist_ok=True)
        for left in set(self.partial.iterdir()) - resumed:
            left.unlink()
        self.make_folder(self.path)
        return kept, parts

    def partial_path(self, file: RemoteFile) -> Path:
        """Where a file is until it is whole; another version of it is elsewhere."""
        text = f"{file.path}\0{file.version}"
        name = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
        return self.partial / name[:32]

    def keep_part(self, part: DonePart) -> None:
        """Note that a part is on the disk."""
        self._append({"part": astuple(part)})

    def move_in(self, file: RemoteFile, whole: WholeFile) -> None:
        """Give a file that is whole its name.

        Raises:
            DownloadFailure: What is there is not ours to replace.
        """
        place = self.place(file.path)
        self.make_folder(place.parent)
        # `begin` has removed what we wrote there. Equal content is lost to no one.
        if os.path.lexists(place) and not (place.is_file() and _has_sums(place, whole)):
            raise in_the_way(place)
        # A process that is killed before the move leaves the partial file, and so `begin` knows.
        self.keep_file(whole)
        self.partial_path(file).replace(place)

    def keep_file(self, whole: WholeFile) -> None:
        """Note that a file is about to be written, so that another input removes it."""
        self._append({"file": astuple(whole)})

    def make_folder(self, folder: Path) -> None:
        """Make a folder at or below the target or our own, never by a link that leads out of it.

        Raises:
            DownloadFailure: There is a file or such a link.
        """
        if folder in self.made:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise DownloadFailure(
                str(folder), "is a file, and the download has a folder of that name", "remove it"
            ) from None
        if not self._is_inside(folder):
            raise DownloadFailure(str(folder), "is a link out of the target folder", "remove it")
        self.made.add(folder)

    def finish(self, revision: str, files: Iterable[WholeFile]) -> Done:
        """Write `done`, once all is on the disk, and remove what only a restart needs."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        done = Done(dict(self.identity), revision, tuple(files), now)
        self._flush()
        # Users remove `done` to fetch again.
        self._write_journal(done.files, ())
        content = {
            "input": done.input,
            "revision": revision,
            "finished": now,
            "files": [astuple(each) for each in done.files],
        }
        _write(self.state / "done", json.dumps(content).encode())
        for each in (self.partial, self.state / "archives"):
            shutil.rmtree(each, ignore_errors=True)
        return done

    def _known(self) -> _Record:
        """What the journal says, and else what `done` says."""
        done = self.read_done()
        known = _Record({}, [], done is not None and done.input == self.identity)
        known.files = {each.path: each for each in done.files} if done else {}
        for line in _lines(self.state / "journal"):
            if "input" in line:
                known.is_same_input = line["input"] == self.identity
                known.is_on_disk = line.get("boot") == boot_id() != ""
            elif "file" in line:
                file = _whole_file(line["file"])
                known.files[file.path] = file
            elif "part" in line:
                known.parts.append(DonePart(*line["part"]))
        return known

    def _is_intact(self, whole: WholeFile, known: _Record) -> bool:
        place = self.place(whole.path)
        if known.is_on_disk:
            return file_size(place) == whole.size
        return _has_sums(place, whole)

    def _write_journal(self, files: Iterable[WholeFile], parts: Iterable[DonePart]) -> None:
        """Write it anew: of files it also has those that are about to be removed."""
        lines: list[dict[str, Any]] = [{"input": self.identity, "boot": boot_id()}]
        lines += [{"file": astuple(each)} for each in files]
        lines += [{"part": astuple(each)} for each in parts]
        self.state.mkdir(parents=True, exist_ok=True)
        path = self.state / "journal"
        _write(path, b"".join(json.dumps(each).encode() + b"\n" for each in lines))
        self.journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def _append(self, line: Mapping[str, Any]) -> None:
        content = json.dumps(line).encode() + b"\n"
        with self.mutex:
            os.write(self.journal, content)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files of ours, and folders that are empty then."""
        emptied: set[Path] = set()
        for each in paths:
            place = self.place(each)
            if ".." in place.parts or not self._is_inside(place.parent):
                continue
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                place.unlink()
            emptied.update(each for each in place.parents if self.path in each.parents)
        for folder in sorted(emptied, key=lambda each: -len(each.parts)):
            with contextlib.suppress(OSError):
                folder.rmdir()
                self.made.discard(folder)

    def _is_inside(self, folder: Path) -> bool:
        top = self.state if folder.is_relative_to(self.state) else self.path
        return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(top))

    def _flush(self) -> None:
        """Have the file system put on the disk what it only remembers."""
        library = ctypes.CDLL(None)
        if not hasattr(library, "syncfs"):
            os.sync()
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        library.syncfs(descriptor)
        os.close(descriptor)


def _is_same(file: RemoteFile | None, own: WholeFile | DonePart, known: _Record) -> bool:
    """Whether what we have is what is wanted. Of another input only a checksum can say so."""
    if file is None or not (known.is_same_input or file.checksum):
        return False
    return file.version == own.version


def _has_part(partial: Path, part: DonePart, known: _Record) -> bool:
    is_there = file_size(partial) > part.index * PART
    return is_there and (known.is_on_disk or _sum_of(partial, part.index) == part.sum)


def _whole_file(fields: Any) -> WholeFile:
    path, version, size, sums = fields
    return WholeFile(path, version, size, tuple(sums))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The journal's lines; one that a killed process did not end is none."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for each in file:
            with contextlib.suppress(ValueError):
                yield json.loads(each)


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def in_the_way(place: Path) -> DownloadFailure:
    """Why a file cannot have its name."""
    cause = "is a file that no initializer wrote, and the download has one of that name"
    if place.is_dir() and not place.is_symlink():
        cause = "is a folder, and the download has a file of that name"
    return DownloadFailure(str(place), cause, "move it away")


def file_size(path: Path) -> int:
    """Of a file; -1 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _has_sums(path: Path, whole: WholeFile) -> bool:
    return file_size(path) == whole.size and all(
        _sum_of(path, index) == each for index, each in enumerate(whole.sums)
    )


def _sum_of(path: Path, index: int) -> int:
    """CRC-32 of a part of a file; -1 where it cannot be read."""
    found = 0
    try:
        with path.open("rb") as file:
            file.seek(index * PART)
            left = PART
            while left and (data := file.read(min(BLOCK, left))):
                found = zlib.crc32(data, found)
                left -= len(data)
    except OSError:
        return -1
    return found
