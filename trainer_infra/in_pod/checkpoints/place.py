"""Where checkpoints are: a folder, or a bucket by obstore, else by fsspec, whichever the image has."""

# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

PIECE = 1 << 24
"""Bytes that are handed on at once: a bucket takes 10,000 parts of a file."""


class CheckpointPlace(Protocol):
    """Files by name, with / in the names. A file is there with all its content or not at all."""

    address: str

    def write(self, name: str, content: Iterable[bytes]) -> None:
        """Write a file.

        Raises:
            OSError: It could not be written; nothing of it is there.
        """

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """A part of a file, or all of it.

        Raises:
            OSError: It is not there, or cannot be read.
        """

    def names(self, below: str = "") -> list[str]:
        """The names of all files in a folder and below it; none where there is no such folder."""

    def remove(self, name: str) -> None:
        """Remove a file that may be gone already."""


def open_place(address: str) -> CheckpointPlace:
    """The place at an address.

    Raises:
        OSError: The image has no library for it.
    """
    if "://" not in address or address.startswith("file://"):
        return Folder(address.removeprefix("file://"))
    try:
        return Bucket(address)
    except ImportError:
        pass
    try:
        return FileSystem(address)
    except ImportError as error:
        scheme = address.partition("://")[0]
        raise OSError(f"{scheme}:// needs obstore or fsspec, and this image has neither") from error


class Folder:
    """A folder of a volume."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._root = Path(address)

    def write(self, name: str, content: Iterable[bytes]) -> None:
        """As in `CheckpointPlace`: into a file beside it, which is renamed when the disk has it."""
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                for each in content:
                    file.write(each)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """As in `CheckpointPlace`."""
        with (self._root / name).open("rb") as file:
            file.seek(start)
            return file.read(-1 if length is None else length)

    def names(self, below: str = "") -> list[str]:
        """As in `CheckpointPlace`."""
        found = [each for each in (self._root / below).rglob("*") if each.is_file()]
        return sorted(each.relative_to(self._root).as_posix() for each in found)

    def remove(self, name: str) -> None:
        """As in `CheckpointPlace`, with the folders that it leaves empty."""
        file = self._root / name
        file.unlink(missing_ok=True)
        try:
            for folder in file.parents:
                if folder == self._root:
                    return
                folder.rmdir()
        except OSError:
            return


class Bucket:
    """A place in a bucket, by obstore, with the credentials in the environment."""

    def __init__(self, address: str) -> None:
        import obstore  # noqa: PLC0415  only programs with such a place need it
        from obstore import store  # noqa: PLC0415  the same

        self.address = address
        self._obstore = obstore
        with _told_as_os_error():
            self._store: Any = store.from_url(address)

    def write(self, name: str, content: Iterable[bytes]) -> None:
        """As in `CheckpointPlace`."""
        with _told_as_os_error():
            self._obstore.put(
                self._store, name, pieces(content), chunk_size=PIECE, max_concurrency=4
            )

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """As in `CheckpointPlace`."""
        if length == 0:
            return b""
        with _told_as_os_error():
            if length is None:
                return bytes(self._obstore.get(self._store, name).bytes())[start:]
            return bytes(self._obstore.get_range(self._store, name, start=start, length=length))

    def names(self, below: str = "") -> list[str]:
        """As in `CheckpointPlace`."""
        with _told_as_os_error():
            listed = self._obstore.list(self._store, f"{below}/" if below else None)
            return sorted(str(each["path"]) for batch in listed for each in batch)

    def remove(self, name: str) -> None:
        """As in `CheckpointPlace`."""
        with contextlib.suppress(FileNotFoundError), _told_as_os_error():
            self._obstore.delete(self._store, name)


class FileSystem:
    """A place of any scheme that fsspec knows."""

    def __init__(self, address: str) -> None:
        import fsspec  # noqa: PLC0415  only programs with such a place need it

        self.address = address
        with _told_as_os_error():
            found: tuple[Any, str] = fsspec.core.url_to_fs(address)
        self._system, self._root = found[0], found[1].rstrip("/")

    def write(self, name: str, content: Iterable[bytes]) -> None:
        """As in `CheckpointPlace`: such systems show a file when it is closed."""
        path = f"{self._root}/{name}"
        with _told_as_os_error():
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            with self._system.open(path, "wb") as file:
                for each in content:
                    file.write(each)

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """As in `CheckpointPlace`."""
        end = None if length is None else start + length
        with _told_as_os_error():
            return bytes(self._system.cat_file(f"{self._root}/{name}", start=start, end=end))

    def names(self, below: str = "") -> list[str]:
        """As in `CheckpointPlace`."""
        folder = f"{self._root}/{below}" if below else self._root
        found: list[str] = []
        with contextlib.suppress(FileNotFoundError), _told_as_os_error():
            self._system.invalidate_cache()
            found = [str(each) for each in self._system.find(folder)]
        return sorted(each[len(self._root) + 1 :] for each in found)

    def remove(self, name: str) -> None:
        """As in `CheckpointPlace`."""
        with contextlib.suppress(FileNotFoundError), _told_as_os_error():
            self._system.rm_file(f"{self._root}/{name}")


def pieces(content: Iterable[bytes]) -> Iterator[bytes]:
    """The same content in chunks of one size, as parts of an upload are."""
    for each in content:
        view = memoryview(each)
        for start in range(0, len(view), PIECE):
            yield bytes(view[start : start + PIECE])


@contextlib.contextmanager
def _told_as_os_error() -> Iterator[None]:
    """Clients of clouds have errors of their own for a place that cannot be read or written."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(" ".join(str(error).split()) or type(error).__name__) from error
