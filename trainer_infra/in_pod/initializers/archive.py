"""Tars of a listing, unpacked into the target in their order, as layers of an image are.

No member gets out of the folder: names that lead out end the download, and links that do are left
out, for images are full of links like `/bin/sh`.
"""

from __future__ import annotations

import lzma
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.folder import (
    BLOCK,
    UNPACKED,
    TargetFolder,
    WholeFile,
    file_size,
    in_the_way,
)
from trainer_infra.in_pod.initializers.listing import STATE, FileListing, RemoteFile, no_file
from trainer_infra.in_pod.initializers.patterns import Patterns, nothing_wanted, with_weights
from trainer_infra.in_pod.initializers.units import files_text

# They are public, and not in the types of all versions.
WRONG_HEADERS: tuple[type[Exception], ...] = (
    tarfile.InvalidHeaderError,  # type: ignore[attr-defined]
    tarfile.TruncatedHeaderError,  # type: ignore[attr-defined]
)
ZSTD = b"\x28\xb5\x2f\xfd"
WHITEOUT = ".wh."
"""Beginning of the name of a file that removes one of an earlier layer."""
OPAQUE = ".wh..wh..opq"
"""Name of a file that removes all that its folder has of earlier layers."""


class _ReadableMember(tarfile.TarInfo):
    """A member whose header makes sense: `tarfile` takes a header that does not for the archive's end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _ReadableMember:  # type: ignore[explicit-override]  # needs a package
        try:
            return super().fromtarfile(archive)
        except WRONG_HEADERS as error:
            raise tarfile.ReadError(str(error)) from None


class Unpacking:
    """Archives on their way into a folder; the patterns say which of their files are wanted."""

    def __init__(self, shown: str, folder: TargetFolder, patterns: Patterns) -> None:
        self.shown = shown
        self.folder = folder
        self.patterns = patterns
        self.paths: dict[str, None] = {}
        self.seen: dict[str, None] = {}
        self.left_out = 0

    def unpack_all(self, archives: Iterable[RemoteFile]) -> None:
        """Unpack each of a listing's, in its order."""
        self.left_out = 0
        for each in archives:
            self.unpack(self.folder.place(each.path), each.unpacked or "")

    def unpack(self, archive: Path, below: str) -> None:
        """Unpack a tar, compressed or not, into the folder `below` of the target, empty for the target.

        Raises:
            DownloadFailure: It cannot be read, or a name in it leads out of the folder.
        """
        place = self.folder.path / below
        self.folder.make_folder(place)
        try:
            with tarfile.open(archive, tarinfo=_ReadableMember) as content:
                for member in content:
                    self._take(content, member, place, below)
                # Behind the last member are the sums of what is compressed.
                while content.fileobj.read(BLOCK):
                    pass
        except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError):
            raise self._damaged(archive) from None
        except OSError as error:
            # Of the file system it has a number; gzip and bz2 raise it without.
            if error.errno is not None:
                raise
            raise self._damaged(archive) from None

    def _damaged(self, archive: Path) -> DownloadFailure:
        with archive.open("rb") as file:
            is_zstd = file.read(4) == ZSTD
        if is_zstd:
            return DownloadFailure(
                self.shown, "is compressed with zstd, which needs Python 3.14", "use gzip"
            )
        cause = f"has a layer, {archive.name}, that is not a tar archive, or is damaged"
        return DownloadFailure(self.shown, cause, "push it again")

    def files(self) -> dict[str, WholeFile]:
        """What was unpacked and is still there, by path."""
        sizes = {each: file_size(self.folder.path / each) for each in self.paths}
        return {path: WholeFile(path, UNPACKED, size, ()) for path, size in sizes.items()}

    def _take(
        self, content: tarfile.TarFile, member: tarfile.TarInfo, place: Path, below: str
    ) -> None:
        path = PurePosixPath(below, member.name.lstrip("/"))
        if ".." in path.parts or path.parts[:1] == (STATE,):
            raise DownloadFailure(str(path), "is a name in an archive that leads out of its folder")
        if path.name.startswith(WHITEOUT):
            is_opaque = path.name == OPAQUE
            self._clear(path.parent if is_opaque else path.with_name(path.name[len(WHITEOUT) :]))
        elif member.isdir():
            self._make_way(path)
        else:
            self.seen[str(path)] = None
            if self.patterns.admits(str(path)):
                self._extract(content, member, place, str(path))

    def _extract(
        self, content: tarfile.TarFile, member: tarfile.TarInfo, place: Path, path: str
    ) -> None:
        target = self.folder.path / path
        # Filters of tarfile would do it, but Pythons before 3.11.4 have none.
        if not (member.isreg() or member.islnk() or member.issym()) or _leads_out(
            member, target, place
        ):
            self.left_out += 1
            return
        found = None if member.issym() else _opened(content, member)
        if found is None and not member.issym():
            self.left_out += 1
            return
        for each in PurePosixPath(path).parents:
            self._make_way(each)
        self.folder.make_folder(target.parent)
        self._clear(PurePosixPath(path))
        if os.path.lexists(target):
            raise in_the_way(target)
        self.folder.keep_file(WholeFile(path, UNPACKED, member.size, ()))
        self.paths[path] = None
        if found is None:
            target.symlink_to(member.linkname)
            return
        with found, target.open("wb") as file:
            shutil.copyfileobj(found, file)
        target.chmod(member.mode & 0o755 | 0o600)
        os.utime(target, (member.mtime, member.mtime))

    def _make_way(self, folder: PurePosixPath) -> None:
        """Remove the file of an earlier layer whose name a folder has now; a link may lead to a folder."""
        if str(folder) in self.paths and not (self.folder.path / folder).is_symlink():
            self._clear(folder)

    def _clear(self, path: PurePosixPath) -> None:
        """Remove what earlier members brought at a path and below it."""
        place = self.folder.path / path
        gone = [str(path)] if str(path) in self.paths else []
        if place.is_dir() and not place.is_symlink():
            gone = [each for each in self.paths if path in PurePosixPath(each).parents]
        self.folder.remove(gone)
        for each in gone:
            del self.paths[each]


def _opened(content: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes] | None:
    """A file's content, or that of the file which a hard link names; None where the archive has no such file."""
    try:
        return content.extractfile(member)
    except KeyError:
        return None


def _leads_out(member: tarfile.TarInfo, target: Path, place: Path) -> bool:
    """Whether a file would be written outside, through a link of an earlier member, or would be a link that leads there."""
    goals = [target.parent, *([target.parent / member.linkname] if member.issym() else ())]
    inside = Path(os.path.realpath(place))
    return not all(Path(os.path.realpath(each)).is_relative_to(inside) for each in goals)


def unpack_archives(
    shown: str, listing: FileListing, folder: TargetFolder, patterns: Patterns
) -> tuple[dict[str, WholeFile], list[str]]:
    """Unpack the archives of a listing, which are on the disk.

    Returns:
        The files that came out of them, by path, and what is worth saying of them.

    Raises:
        DownloadFailure: As `Unpacking.unpack`, or the patterns leave nothing.
    """
    unpacking = Unpacking(shown, folder, patterns)
    archives = [each for each in listing.files if each.unpacked is not None]
    unpacking.unpack_all(archives)
    # Only now the names are known.
    unpacking.patterns, remark = with_weights(patterns, [(each,) for each in unpacking.seen])
    if unpacking.patterns.also:
        unpacking.unpack_all(archives)
    if len(archives) == len(listing.files) and not unpacking.paths:
        if not unpacking.seen:
            raise no_file(shown)
        raise nothing_wanted(shown, len(unpacking.seen), patterns.shown or "what a folder can hold")
    left_out = unpacking.left_out
    links = f"left out {files_text(left_out)}: links out of the folder, and devices"
    return unpacking.files(), [*filter(None, [remark]), *([links] if left_out else ())]
