"""Tars of a listing, unpacked into the target in their order, as layers of an image are.

Called by `__main__`. No member gets out of the folder: names that lead out end the download, and links that do are left
out, for images are full of links like `/bin/sh`.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.folder import (
    UNPACKED,
    TargetFolder,
    WholeFile,
    file_size,
    folder_in_the_way,
)
from trainer_infra.in_pod.initializers.listing import STATE, FileListing
from trainer_infra.in_pod.initializers.patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

ZSTD = b"\x28\xb5\x2f\xfd"
WHITEOUT = ".wh."
"""Beginning of the name of a file that removes one of an earlier layer."""
OPAQUE = ".wh..wh..opq"
"""Name of a file that removes all that its folder has of earlier layers."""


class Unpacking:
    """Archives on their way into a folder.

    Args:
        folder: the target.
        patterns: which files of the archives are wanted.
    """

    def __init__(self, folder: TargetFolder, patterns: Patterns) -> None:
        self.folder = folder
        self.patterns = patterns
        self.paths: dict[str, None] = {}
        self.left_out = 0

    def unpack(self, archive: Path, below: str) -> None:
        """Unpack one.

        Args:
            archive: a tar, compressed or not.
            below: the folder in the target, empty for the target.

        Raises:
            DownloadFailure: It cannot be read, or a name in it leads out of the folder.
        """
        place = self.folder.path / below
        self.folder.make_folder(place)
        try:
            with tarfile.open(archive) as content:
                for member in content:
                    self._take(content, member, place, below)
        except (tarfile.ReadError, EOFError) as error:
            with archive.open("rb") as file:
                is_zstd = file.read(4) == ZSTD
            cause = "is compressed with zstd, which needs Python 3.14" if is_zstd else str(error)
            raise DownloadFailure(archive.name, cause) from None

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
            self._remove(path)
        elif member.isdir() or not self.patterns.admits(str(path)):
            return
        else:
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
        self.folder.make_folder(target.parent)
        if target.is_dir() and not target.is_symlink():
            raise folder_in_the_way(target)
        target.unlink(missing_ok=True)
        self.folder.keep_file(WholeFile(path, UNPACKED, member.size, ()))
        self.paths[path] = None
        if found is None:
            target.symlink_to(member.linkname)
            return
        with found, target.open("wb") as file:
            shutil.copyfileobj(found, file)
        target.chmod(member.mode & 0o755 | 0o600)
        os.utime(target, (member.mtime, member.mtime))

    def _remove(self, path: PurePosixPath) -> None:
        """Remove what a whiteout names, as far as an earlier archive brought it."""
        gone = path.parent if path.name == OPAQUE else path.with_name(path.name[len(WHITEOUT) :])
        for each in [
            each for each in self.paths if gone in (found := PurePosixPath(each), *found.parents)
        ]:
            (self.folder.path / each).unlink(missing_ok=True)
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
    listing: FileListing, folder: TargetFolder, patterns: Patterns
) -> tuple[dict[str, WholeFile], int]:
    """Unpack the archives of a listing, which are on the disk.

    Returns:
        The files that came out of them, by path, and how many members were left out.

    Raises:
        DownloadFailure: As `Unpacking.unpack`.
    """
    unpacking = Unpacking(folder, patterns)
    for each in listing.files:
        if each.unpacked is not None:
            unpacking.unpack(folder.path / each.path, each.unpacked)
    return unpacking.files(), unpacking.left_out
