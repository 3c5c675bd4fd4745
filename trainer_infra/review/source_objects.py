"""What was found in files, and a file, stdin or a text -> what is found there."""

import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.review import file_text
from trainer_infra.review.documents import Document
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.inventory import SourceFile, Use, joined_files

if TYPE_CHECKING:
    from trainer_infra.rules.configuration import ChartValues

SUFFIXES: Final = file_text.SUFFIXES
STDIN: Final = "-"
PROGRAMS: Final = (".py", ".ipynb", ".ts", ".go")
"""Files with programs, whose resources are in no file."""
EXCLUDED: Final = "excluded"
_LARGEST: Final = 64 << 20
"""Bytes of a file that is read; the API server takes 3 MiB of an object."""
_LARGE: Final = f"is larger than {_LARGEST >> 20} MiB"


@dataclass(frozen=True, slots=True)
class SourceObjects:
    """What was found."""

    documents: tuple[Document, ...] = ()
    """In the order of the paths, and in each file as written."""
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each."""
    files: tuple[SourceFile, ...] = ()
    """What became of each file."""


@dataclass(frozen=True, slots=True)
class SourceScope:
    """What is to be read of folders."""

    values: tuple[str, ...] = ()
    """Files of values for charts, the last one wins; where there are some, no others are looked for."""
    exclusion: Exclusion = field(default_factory=Exclusion)
    """What is left out; what is built from other files may still read it. Paths of `charts` are relative
    to its folder."""
    charts: "tuple[ChartValues, ...]" = ()
    """How the configuration has charts rendered."""

    def moved(self, folder: str, copy: str) -> "SourceScope":
        """The same for a copy of a folder: files of values as that has them, without those that it lacks."""
        values = tuple(_moved(self.values, folder, copy))
        return replace(self, values=values, exclusion=self.exclusion.moved(folder, copy))


def _moved(files: Iterable[str], folder: str, copy: str) -> Iterator[str]:
    for each in files:
        below = os.path.relpath(os.path.realpath(each), folder)
        there = each if below.startswith(os.pardir) else str(Path(copy, below))
        if Path(there).exists():
            yield there


ALL: Final = SourceScope()
"""Nothing is left out."""


def joined_sources(parts: Iterable[SourceObjects]) -> SourceObjects:
    """All of them as one; what several have is there once."""
    whole = tuple(parts)
    if len(whole) == 1:
        return whole[0]
    return SourceObjects(
        _once(each for part in whole for each in part.documents),
        tuple(dict.fromkeys(each for part in whole for each in part.problems)),
        joined_files(each for part in whole for each in part.files),
    )


def _once(found: Iterable[Document]) -> tuple[Document, ...]:
    """Each once, with all folders that it is deployed from."""
    kept: list[Document] = []
    seen: dict[tuple[str, tuple[int, int], tuple[str, ...]], list[int]] = {}
    for each in found:
        # What two overlays say alike in files of their own has two places.
        texts = tuple(part.text.file for part in each.parts)
        others = seen.setdefault((each.file, each.place(each.start), texts), [])
        same = next((index for index in others if kept[index].value == each.value), None)
        if same is None:
            others.append(len(kept))
            kept.append(each)
            continue
        other = kept[same]
        if (each.deployed_from, each.renderings) != (other.deployed_from, other.renderings):
            kept[same] = replace(
                other,
                folders=tuple(dict.fromkeys((*other.deployed_from, *each.deployed_from))),
                layers=tuple(dict.fromkeys((*other.layers, *each.layers))),
                renderings=tuple(dict.fromkeys((*other.renderings, *each.renderings))),
            )
    return tuple(kept)


def text_of(path: str) -> tuple[str, str]:
    """The text of a file, or of stdin where the path is `-`, and what problems call it.

    Raises:
        InvalidInput: It cannot be read.
    """
    content, name = _content_of(path)
    try:
        return file_text.decoded(content), name
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem("", _no_text(error), where=name)]) from None


def _content_of(path: str) -> tuple[bytes, str]:
    name = file_text.STDIN if path == STDIN else path
    if Path(path).suffix in PROGRAMS:
        fix = "`pulumi preview` shows and judges what a program declares"
        raise InvalidInput([Problem("", "is a program, and no manifest", fix=fix, where=name)])
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes(), name
    except OSError as error:
        raise InvalidInput([Problem("", f"cannot be read: {error.strerror}", where=name)]) from None


def _no_text(error: UnicodeDecodeError) -> str:
    encoding = error.encoding.upper().replace("UTF8", "UTF-8").replace("UTF16", "UTF-16")
    return f"is not {encoding} text: {error.reason}"


def read_file(path: str | Path) -> SourceObjects:
    """The objects of a file."""
    shown = os.fspath(path)
    try:
        if shown != STDIN and Path(path).stat().st_size > _LARGEST:
            return _large(shown)
        return _of_content(*_content_of(shown))
    except InvalidInput as error:
        return unread(shown, *map(str, error.problems))
    except OSError as error:
        return unread(shown, f"{shown}: cannot be read: {error.strerror}")


def _of_content(content: bytes, name: str) -> SourceObjects:
    try:
        found = of_text(file_text.decoded(content), name)
    except UnicodeDecodeError as error:
        if name != file_text.STDIN and not file_text.seems_object(content):
            return SourceObjects(files=(SourceFile(name, Use.DATA, file_text.NO_TEXT),))
        return unread(name, f"{name}: {_no_text(error)}")
    return uneditable(found) if file_text.is_wide(content) else found


def uneditable(found: SourceObjects) -> SourceObjects:
    """The same, not to be mended."""
    return replace(found, documents=file_text.uneditable(found.documents))


def _large(path: str) -> SourceObjects:
    """A file that is not read: passed over, unless the words are in it that every object has."""
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
    ):
        if all(text.find(word) >= 0 for word in (b"kind", b"apiVersion")):
            return unread(path, f"{path}: {_LARGE}; exclude it, or split it")
    return SourceObjects(files=(SourceFile(path, Use.PASSED_OVER, _LARGE),))


def read_other(file: Path) -> SourceFile:
    """What becomes of a file that is not named as a manifest: nothing, and it is said where it has an object."""
    try:
        content = file.read_bytes() if file.stat().st_size <= _LARGEST else b""
    except OSError:
        content = b""
    why = file_text.NOT_NAMED if file_text.seems_object(content) else ""
    return SourceFile(os.fspath(file), Use.DATA, why)


def unread(path: str, *problems: str) -> SourceObjects:
    """A file that cannot be read, with why."""
    return SourceObjects((), problems, (SourceFile(path, Use.UNREAD),))


def of_text(text: str, file: str) -> SourceObjects:
    """The objects of a text; what is wrong with one document keeps no other from being read."""
    found = file_text.file_text(text, file)
    use = Use.PASSED_OVER if found.why == file_text.TEMPLATE else Use.DATA
    use = Use.JUDGED if found.documents else use
    use = Use.UNREAD if found.problems else use
    problems = tuple(map(str, found.problems))
    return SourceObjects(found.documents, problems, (SourceFile(file, use, found.why),))


def made(folder: Path, make: Callable[[Path], tuple[Document, ...]]) -> SourceObjects:
    """What a tool makes of a folder."""
    try:
        found = (replace(each, folders=(os.fspath(folder),)) for each in make(folder))
        return SourceObjects(tuple(found))
    except InvalidInput as error:
        return SourceObjects(problems=tuple(str(each) for each in error.problems))
    except (NotAvailable, UnicodeDecodeError) as error:
        return SourceObjects(problems=(f"{folder}: {error}",))
