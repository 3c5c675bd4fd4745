"""Secrets that stand in what is checked, kept out of everything that is said of it.

Called by `check`, before a value, a clause or a line of a file gets into a report.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from trainer_infra.review.documents import Document
from trainer_infra.review.report import Place
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value

HIDDEN: Final = "<secret>"
SHORTEST: Final = 6
"""Characters from which on a Secret's value is looked for: shorter ones are words."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What is not to be told."""

    secrets: tuple[str, ...]
    """Values, the longest first, so that none is left of one that another is part of."""
    lines: frozenset[tuple[str, int]]
    """File and line of every place where one is written, however it is spelled there."""

    @classmethod
    def of(cls, documents: Iterable[tuple[Document, Subject]]) -> "Redaction":
        """What stands in the documents."""
        secrets: set[str] = set()
        lines: set[tuple[str, int]] = set()
        for document, subject in documents:
            for value in _secret(subject):
                secrets.update(_spelled(str(value.raw)))
                lines.update(_lines(document, value))
        return cls(tuple(sorted(secrets, key=len, reverse=True)), frozenset(lines))

    def text(self, text: str) -> str:
        """The text without secrets."""
        for each in self.secrets:
            text = text.replace(each, HIDDEN)
        return text

    def place(self, place: Place) -> Place:
        """The place with an excerpt without secrets."""
        shown = tuple(
            HIDDEN if (place.file, place.line + index) in self.lines else self.text(line)
            for index, line in enumerate(place.excerpt)
        )
        return replace(place, excerpt=shown)


def _secret(subject: Subject) -> Iterator[Value]:
    """Texts of an object that have a secret in them."""
    if subject.kind == "Secret":
        for part in ("stringData", "data"):
            yield from (value for _, value in subject.object[part].fields())
    else:
        yield from literal_secrets.found(subject)


def _lines(document: Document, value: Value) -> Iterator[tuple[str, int]]:
    if document.source is not None:
        path = (*document.start, *value.path)
        first, _ = document.source.place(path)
        last, _ = document.source.end(path)
        yield from ((document.file, line) for line in range(first, last + 1))


def _spelled(text: str) -> Iterator[str]:
    """A value, its lines, and what it says in base64: whatever may be shown of it."""
    yield from _long((text, *text.splitlines()))
    try:
        plain = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return
    yield from _long((plain, *plain.splitlines()))


def _long(texts: Iterable[str]) -> Iterator[str]:
    return (each.strip() for each in texts if len(each.strip()) >= SHORTEST)
