"""What a source answers: the files that there are, and bytes of them."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from trainer_infra.in_pod.initializers.failure import DownloadFailure

_NAME = re.compile("([0-9a-f]{64})[.]tar")
STATE = ".trainer-infra"
"""The beginning of the names of folders with what we keep besides the files; in a target no file has it."""


@dataclass(frozen=True)
class RemoteFile:
    """One file of a source."""

    path: str
    """Where it goes, below the target, with slashes."""
    size: int | None
    """Bytes; None where the source does not say."""
    location: str
    """How the source finds it again."""
    validator: str = ""
    """Changes when the content does: an ETag, a time; empty where the source has none."""
    checksum: str = ""
    """`<algorithm>:<hex>` of the content, with sha256, sha1, sha512, md5 or git; empty where the source has none."""
    unpacked: str | None = None
    """The folder below the target in which this tar is unpacked, empty for the target; None for a file to keep."""
    resumes: bool = True
    """Whether the source can begin in the middle of it."""

    @property
    def version(self) -> str:
        """Equal for equal content, as far as the source lets us know."""
        return f"{self.size}/{self.checksum or self.validator}"


@dataclass(frozen=True)
class FileListing:
    """The files that a URI stands for, in the order in which they are fetched."""

    files: tuple[RemoteFile, ...]
    revision: str = ""
    """The exact version that a name stood for: a commit, a digest; empty where there is none."""
    remark: str = ""
    """What is worth knowing of what is among them and what is not."""

    @property
    def size(self) -> int:
        """Bytes of the files whose size is known."""
        return sum(each.size or 0 for each in self.files)


class FileSource(ABC):
    """Where files come from. Methods raise DownloadFailure; several threads at once call `read`."""

    @abstractmethod
    def list_files(self) -> FileListing:
        """Every wanted file."""

    @abstractmethod
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of a file from `start` to before `end`, None for all; fewer if the connection breaks."""

    def share(self, file: RemoteFile, target: int, start: int, size: int) -> int:  # noqa: ARG002
        """Have the file system give the descriptor `target` bytes that were read a moment ago, to keep them once.

        They begin at `start` in both files. The answer is how many it did: the rest has to be written.
        """
        return 0

    def vouches_for(self, file: RemoteFile) -> bool:  # noqa: ARG002  most do for all
        """Whether the checksum in the listing is one of the content; asked when it differs."""
        return True


def checked_listing(place: str, listing: FileListing) -> FileListing:
    """The listing, if its files can all be written below one folder and there are any.

    Raises:
        DownloadFailure: It is empty, or a path leads out of the folder, into our own, or is another's folder.
    """
    if not listing.files:
        raise no_file(place)
    paths = {each.path for each in listing.files if each.unpacked is None}
    for each in listing.files:
        name = each.path if each.unpacked is None else each.unpacked
        if each.unpacked == "":
            continue
        parts = name.split("/")
        if "\0" in name or {"", ".", ".."} & set(parts):
            raise DownloadFailure(
                place, f"{name!r} is not a path below a folder", "rename it there"
            )
        if parts[0] == STATE:
            remedy = "remove it there, or leave it out with IGNORE_PATTERNS"
            raise DownloadFailure(place, f"{name!r} is where we keep our state", remedy)
        above = next((str(each) for each in PurePosixPath(name).parents if str(each) in paths), "")
        if above:
            raise DownloadFailure(
                place,
                f"{above!r} is a file and, for {name!r}, a folder",
                "a file system cannot have both: leave one out with IGNORE_PATTERNS",
            )
    return replace(listing, files=tuple({each.path: each for each in listing.files}.values()))


def no_file(shown: str) -> DownloadFailure:
    """Why there is nothing to fetch."""
    return DownloadFailure(shown, "there is no file", "see whether the URI is right")


class Checksum:
    """Hashes a content as it comes by, to compare it with `RemoteFile.checksum`; git hashes its size first."""

    def __init__(self, expected: str, size: int) -> None:
        self.algorithm, _, self.expected = expected.partition(":")
        name = "sha1" if self.algorithm == "git" else self.algorithm
        self.digest = hashlib.new(name, usedforsecurity=False) if name else None
        if self.digest and self.algorithm == "git":
            self.digest.update(f"blob {size}\0".encode())

    def update(self, data: bytes) -> None:
        """Take the next bytes."""
        if self.digest:
            self.digest.update(data)

    def difference(self) -> str:
        """What is wrong, a clause; empty if nothing is."""
        if self.digest is None or self.digest.hexdigest() == self.expected.lower():
            return ""
        return f"its {self.algorithm} is {self.digest.hexdigest()} and should be {self.expected}"


def code_listing(place: str, listing: FileListing) -> FileListing:
    """The listing of the one tar: it is unpacked once its content is what its name says.

    Raises:
        DownloadFailure: It is not one tar of such a name.
    """
    names = [_NAME.fullmatch(each.path) for each in listing.files]
    if len(names) != 1 or names[0] is None:
        remedy = "`pulumi up` with attempt= raised puts it there again"
        raise DownloadFailure(place, "is not the code of a job, named by its sha256", remedy)
    digest = names[0].group(1)
    path, checksum = f"{STATE}/archives/{digest}", f"sha256:{digest}"
    file = replace(listing.files[0], path=path, checksum=checksum, unpacked="")
    return replace(listing, files=(file,))
