"""Where checkpoints are: a folder, or a bucket by obstore, else by fsspec, whichever the image has."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol


class Place(Protocol):
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


def open_place(address: str) -> Place:
    """The place at an address.

    Raises:
        OSError: The image has no library for it.
    """
    if "://" not in address:
        return Folder(address)
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
        """As in `Place`: into a file beside it, which is renamed when the disk has it."""
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
        """As in `Place`."""
        with (self._root / name).open("rb") as file:
            file.seek(start)
            return file.read(-1 if length is None else length)

    def names(self, below: str = "") -> list[str]:
        """As in `Place`."""
        found = [each for each in (self._root / below).rglob("*") if each.is_file()]
        return sorted(each.relative_to(self._root).as_posix() for each in found)

    def remove(self, name: str) -> None:
        """As in `Place`, with the folders that it leaves empty."""
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
        self._store: Any = store.from_url(address)

    def write(self, name: str, content: Iterable[bytes]) -> None:
        """As in `Place`."""
        self._tried(self._obstore.put, name, iter(content))

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """As in `Place`."""
        if length == 0:
            return b""
        if length is not None:
            return bytes(self._tried(self._obstore.get_range, name, start=start, length=length))
        return bytes(self._tried(self._obstore.get, name).bytes())[start:]

    def names(self, below: str = "") -> list[str]:
        """As in `Place`."""
        listed = self._tried(self._obstore.list, f"{below}/" if below else None)
        return sorted(str(each["path"]) for batch in listed for each in batch)

    def remove(self, name: str) -> None:
        """As in `Place`."""
        try:
            self._tried(self._obstore.delete, name)
        except FileNotFoundError:
            return

    def _tried(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(self._store, *args, **kwargs)
        except self._obstore.exceptions.BaseError as error:
            raise OSError(" ".join(str(error).split())) from error


class FileSystem:
    """A place of any scheme that fsspec knows."""

    def __init__(self, address: str) -> None:
        import fsspec  # noqa: PLC0415  only programs with such a place need it

        self.address = address
        found: tuple[Any, str] = fsspec.core.url_to_fs(address)
        self._system, self._root = found

    def write(self, name: str, content: Iterable[bytes]) -> None:
        """As in `Place`: such systems show a file when it is closed."""
        path = f"{self._root}/{name}"
        self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
        with self._system.open(path, "wb") as file:
            for each in content:
                file.write(each)

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """As in `Place`."""
        end = None if length is None else start + length
        content: bytes = self._system.cat_file(f"{self._root}/{name}", start=start, end=end)
        return content

    def names(self, below: str = "") -> list[str]:
        """As in `Place`."""
        self._system.invalidate_cache()
        root = self._root.rstrip("/")
        try:
            found = self._system.find(f"{root}/{below}" if below else root)
        except FileNotFoundError:
            return []
        return sorted(str(each)[len(root) + 1 :] for each in found)

    def remove(self, name: str) -> None:
        """As in `Place`."""
        try:
            self._system.rm_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return
