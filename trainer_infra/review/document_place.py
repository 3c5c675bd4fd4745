"""A path in an object -> the place in its file.

Called by `check` for every finding.
"""

from typing import Final

from trainer_infra.api.finding import Path
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Place

MOST_LINES: Final = 5
"""Lines of an excerpt."""


def place_in_document(document: Document, path: Path) -> Place:
    """Where what stands at a path, or what is nearest above it, is written."""
    if document.source is None:
        return Place(document.file)
    whole = document.at(path)
    line, column = document.place(whole)
    end_line, end_column = document.end(whole)
    shown = document.lines[line - 1 : min(end_line, line - 1 + MOST_LINES)]
    return Place(document.file, line, column, end_line, end_column, shown or ("",))
