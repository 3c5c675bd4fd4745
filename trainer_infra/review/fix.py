"""Writing the edits of a report into the files.

Edits that meet are made one after the other, each on the text that the one before it left.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from trainer_infra.errors import NotAvailable
from trainer_infra.review.documents import BOM
from trainer_infra.review.report import Edit, Item

_WINDOWS: Final = "\r\n"


def fixed_text(text: str, edits: Iterable[Edit]) -> str:
    """The text with those edits that do not overlap, from its end to its beginning."""
    mark, text = text[: text.startswith(BOM)], text.removeprefix(BOM)
    lines = text.splitlines(keepends=True)
    newline = _WINDOWS if lines and lines[0].endswith(_WINDOWS) else "\n"
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    before = len(text) + 1
    last_first = sorted(
        set(edits), key=lambda each: (each.start, each.end, each.text), reverse=True
    )
    for each in last_first:
        start, end = (_offset(starts, at) for at in (each.start, each.end))
        if end < before:
            text, before = text[:start] + each.text.replace("\n", newline) + text[end:], start
    return mark + text


def write_fixes(items: Iterable[Item]) -> tuple[str, ...]:
    """Write what mends the items; the files that were changed.

    Raises:
        NotAvailable: A file cannot be written; those before it are.
    """
    by_file: dict[str, list[Edit]] = {}
    for each in items:
        for edit in each.edits:
            by_file.setdefault(edit.file, []).append(edit)
    changed = []
    for file, edits in by_file.items():
        try:
            changed += [file] if _written(Path(file).resolve(), edits) else []
        except OSError as error:
            raise NotAvailable(f"{file}: cannot be written: {error.strerror}") from None
    return tuple(changed)


def _offset(starts: list[int], at: tuple[int, int]) -> int:
    line, column = at
    return starts[min(line, len(starts)) - 1] + column - 1


def _written(path: Path, edits: list[Edit]) -> bool:
    # Bytes: line ends stay as they are.
    old = path.read_bytes().decode("utf-8")
    new = fixed_text(old, edits)
    if new == old:
        return False
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    scratch = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new.encode("utf-8"))
        scratch.chmod(path.stat().st_mode)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    return True
