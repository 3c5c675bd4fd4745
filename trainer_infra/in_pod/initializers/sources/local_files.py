"""Files below a folder of this file system, or one file.

Called by `file` and `pvc`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.folder import BLOCK
from trainer_infra.in_pod.initializers.listing import (
    FileListing,
    FileSource,
    RemoteFile,
    nothing_wanted,
)
from trainer_infra.in_pod.initializers.settings import InitializerSettings


class LocalSource(FileSource):
    """A folder's files.

    Args:
        settings: of the download.
        path: the folder or the file.
        remedy: what to do where it is missing, a clause.
    """

    def __init__(self, settings: InitializerSettings, path: Path, remedy: str) -> None:
        self.settings = settings
        self.path = path
        self.remedy = remedy

    @override
    def list_files(self) -> FileListing:
        """Every file; links are followed, for a cache of the Hub is full of them."""
        shown = self.settings.uri.shown
        if not self.path.exists():
            raise DownloadFailure(shown, f"there is no {self.path}", self.remedy)
        if not self.path.is_dir():
            return FileListing((self._file(self.path.name, self.path),))
        files = [
            self._file(str(each.relative_to(self.path)), each) for each in self._walk(self.path, ())
        ]
        wanted = [each for each in files if self.settings.patterns.admits(each.path)]
        if files and not wanted:
            raise nothing_wanted(shown, len(files), self.settings.patterns.shown)
        return FileListing(tuple(wanted))

    @override
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of a file."""
        try:
            with Path(file.location).open("rb") as content:
                content.seek(start)
                left = (file.size or 0 if end is None else end) - start
                while left > 0 and (data := content.read(min(BLOCK, left))):
                    yield data
                    left -= len(data)
        except OSError as error:
            raise self._unreadable(file.location, error) from None
        if left > 0:
            raise DownloadFailure(file.location, "was changed while it was copied", "start again")

    def _walk(self, folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
        """Files below a folder, each loop of links once."""
        real = os.path.realpath(folder)
        if real in above:
            return
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise self._unreadable(str(folder), error) from None
        for each in entries:
            if each.is_dir():
                yield from self._walk(each, (*above, real))
            elif each.is_file():
                yield each
            elif each.is_symlink():
                raise DownloadFailure(
                    str(each), "is a link to nothing", "remove it or what it misses"
                )

    def _file(self, path: str, place: Path) -> RemoteFile:
        found = place.stat()
        return RemoteFile(path, found.st_size, str(place), validator=str(found.st_mtime_ns))

    def _unreadable(self, path: str, error: OSError) -> DownloadFailure:
        cause = f"cannot be read by user {os.getuid()}: {error.strerror}"
        return DownloadFailure(path, cause, "give that user the right to")
