"""`file:///FOLDER`: a folder or file that the pod or this machine has."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.folder import BLOCK
from trainer_infra.in_pod.initializers.listing import STATE, FileListing, FileSource, RemoteFile
from trainer_infra.in_pod.initializers.patterns import wanted_files
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.storage import mounted


class LocalSource(FileSource):
    """The files of a folder, or one file; `remedy` says what to do where it is missing, a clause."""

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
        self._keep_apart()
        if not self.path.is_dir():
            return FileListing((self._file(self.path.name, self.path),))
        paths = [str(each.relative_to(self.path)) for each in self._walk(self.path, ())]
        wanted, remark = wanted_files(shown, self.settings.patterns, paths, lambda path: (path,))
        files = tuple(self._file(path, self.path / path) for path in wanted)
        return FileListing(files, remark=remark)

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
                found = os.fstat(content.fileno())
        except OSError as error:
            raise self._unreadable(file.location, error) from None
        # Another part may be of another version, and what was read while a program wrote is of none.
        if (found.st_size, _time(found)) != (file.size, file.validator):
            raise DownloadFailure(file.location, "was changed while it was copied", "start again")

    @override
    def share(self, file: RemoteFile, target: int, start: int, size: int) -> int:
        """All of them where both are of one file system; those with reflinks keep them once."""
        shared = 0
        # Linux alone has it, and refuses for many reasons, after each of which one can write.
        with contextlib.suppress(OSError, AttributeError), Path(file.location).open("rb") as own:
            while shared < size and (
                count := os.copy_file_range(
                    own.fileno(), target, size - shared, start + shared, start + shared
                )
            ):
                shared += count
        return shared

    def _keep_apart(self) -> None:
        """Raise where files of the source would be replaced, or copied into themselves."""
        target = self.settings.target
        source, goal = (Path(os.path.realpath(each)) for each in (self.path, target))
        if source in (goal, *goal.parents) or goal in source.parents:
            cause = f"and the target {target} are one folder, or one is in the other"
            raise DownloadFailure(self.settings.uri.shown, cause, "name another folder")

    def _walk(self, folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
        """What there is below a folder, each loop of links once; not what we keep beside a download."""
        real = os.path.realpath(folder)
        if real in above:
            return
        try:
            entries = sorted(folder.iterdir())
            folders = {each for each in entries if each.is_dir()}
        except OSError as error:
            raise self._unreadable(str(folder), error) from None
        for each in entries:
            if each not in folders:
                yield each
            elif each.name != STATE and not each.name.startswith(f"{STATE}-"):
                yield from self._walk(each, (*above, real))

    def _file(self, path: str, place: Path) -> RemoteFile:
        try:
            found = place.stat()
        except FileNotFoundError:
            remedy = "remove it or what it misses"
            raise DownloadFailure(str(place), "is a link to nothing", remedy) from None
        except OSError as error:
            raise self._unreadable(str(place), error) from None
        if not stat.S_ISREG(found.st_mode):
            remedy = "leave it out with IGNORE_PATTERNS"
            raise DownloadFailure(str(place), "is a pipe, a socket or a device", remedy)
        return RemoteFile(path, found.st_size, str(place), validator=_time(found))

    def _unreadable(self, path: str, error: OSError) -> DownloadFailure:
        cause = f"cannot be read by user {os.getuid()}: {error.strerror}"
        return DownloadFailure(path, cause, "give that user the right to")


def open_source(settings: InitializerSettings) -> LocalSource:
    """Files of this file system; a path below a volume is where `mounted` says."""
    path = Path(mounted(f"/{unquote(settings.uri.path)}"))
    return LocalSource(settings, path, "a pod has only what is in its image and on its volumes")


def _time(found: os.stat_result) -> str:
    return str(found.st_mtime_ns)
