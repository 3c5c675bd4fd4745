"""Secrets that stand in what is checked, kept out of everything that is said of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.errors import Problem
from trainer_infra.names import SECRET_SHOWN
from trainer_infra.review.documents import Document, value_at, written_place
from trainer_infra.review.report import QUOTING, Item, Place, UnseenRule
from trainer_infra.rules import subject as rule_subject
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value
from trainer_infra.runs.redaction import Redaction, spellings_of
from trainer_infra.secret_texts import texts
from trainer_infra.secret_texts.forms import decoded_text

_KIND: Final = "Secret"


@dataclass(frozen=True, slots=True)
class ReportRedaction:
    """What is not to be told."""

    secrets: Redaction
    """Values, wherever they stand."""
    lines: frozenset[tuple[str, int]]
    """File and line of every place where one is written, however it is spelled there."""

    @classmethod
    def of(
        cls, documents: Iterable[tuple[Document, Subject]], others: Iterable[Subject] = ()
    ) -> "ReportRedaction":
        """What stands in the documents, in what they were built from, and in other objects."""
        secrets: set[str] = set()
        lines: set[tuple[str, int]] = set()
        texts: dict[int, Document] = {}
        found: list[tuple[Document, Path, Value]] = []
        for document, subject in documents:
            texts |= {id(each.text.source): each.text for each in document.parts}
            if value_at(document.written, ("kind",)) is None:
                # It is made of a line of its own in a text with others.
                texts[id(document.source)] = document
            found += ((*written_place(document, each.path), each) for each in _secret(subject))
            found += (*_written(document), *_in_parts(document))
        for text, path, value in (*found, *_beside(texts.values())):
            secrets.update(_spelled(str(value.raw)))
            lines.update(_lines(text, path))
        for each in others:
            secrets.update(part for value in _secret(each) for part in _spelled(str(value.raw)))
        return cls(Redaction(frozenset(secrets)), frozenset(lines))

    def text(self, text: str) -> str:
        """The text without secrets."""
        return self.secrets.text(text)

    def sentence(self, text: str) -> str:
        """What a tool or a reader says, without these secrets and without what looks like one.

        What could not be read was not searched for secrets.
        """
        return texts.shown_text(self.text(text))

    def value(self, value: Any) -> Any:
        """The JSON value without secrets: they are found before it is shown, cut and escaped."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.value(key): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.value, value))
        return SECRET_SHOWN if str(value) in self.secrets.hidden else value

    def problem(self, problem: Problem) -> Problem:
        """The problem without secrets."""
        what, fix = self.text(problem.what), self.text(problem.fix)
        return replace(problem, what=what, got=self.value(problem.got), fix=fix)

    def item(self, item: Item) -> Item:
        """The finding without secrets; without edits where one would write a secret down."""
        if not self.secrets.hidden and not self.lines:
            return item
        excuse = item.excuse
        if excuse is not None:
            owner, reason = self.text(excuse.owner), self.text(excuse.reason)
            excuse = replace(excuse, owner=owner, reason=reason)
        texts: dict[str, Any] = {field: self.text(getattr(item, field)) for field in QUOTING}
        tells = any(self.text(each.text) != each.text for each in item.edits)
        edits = () if tells else item.edits
        return replace(item, **texts, place=self.place(item.place), edits=edits, excuse=excuse)

    def unseen(self, unseen: UnseenRule) -> UnseenRule:
        """What could not be seen, without secrets."""
        namespace, name = self.text(unseen.namespace), self.text(unseen.name)
        return replace(unseen, namespace=namespace, name=name, path=self.text(unseen.path))

    def place(self, place: Place) -> Place:
        """The place with an excerpt without secrets."""
        shown = tuple(
            SECRET_SHOWN if (place.file, place.line + index) in self.lines else self.text(line)
            for index, line in enumerate(place.excerpt)
        )
        return replace(place, excerpt=shown)


def _secret(subject: Subject) -> Iterator[Value]:
    """Texts of an object that have a secret in them."""
    for part in ("stringData", "data") if subject.kind == _KIND else ():
        yield from (value for _, value in subject.object[part].fields())
    yield from literal_secrets.texts_with_secrets(subject)


def _written(document: Document) -> Iterator[tuple[Document, Path, Value]]:
    """Those of what a tool built the object from, where that says something else."""
    written = document.written
    if isinstance(written, Mapping) and written is not document.value:
        for value in _secret(rule_subject.subject_of(written)):
            yield document, (*document.start, *value.path), value


def _in_parts(document: Document) -> Iterator[tuple[Document, Path, Value]]:
    """Those of patches that others have overruled."""
    kind = {"kind": document.value.get("kind")}
    for part in document.parts:
        for value in _secret(rule_subject.subject_of({**part.whole, **kind})):
            yield part.text, (*part.text.start, *value.path[len(part.path) :]), value


def _beside(texts: Iterable[Document]) -> Iterator[tuple[Document, Path, Value]]:
    """What stands beside patches and generators in their texts, on lines that may be shown with them."""
    for text in texts:
        if text.source is not None:
            whole = rule_subject.subject_of({"kind": "Kustomization", "spec": text.source.value})
            yield from ((text, value.path[1:], value) for value in _secret(whole))


def _lines(document: Document, path: Path) -> Iterator[tuple[str, int]]:
    """The lines of what stands at a path of the source's document."""
    if document.source is not None or document.line:
        first, _ = document.place(path)
        last, _ = document.end(path)
        yield from ((document.file, line) for line in range(first, last + 1))


def _spelled(text: str) -> Iterator[str]:
    """A value, its lines, its secret parts, and what it says in base64: what may be shown of it."""
    for each in filter(None, (text, decoded_text(text))):
        for part in (each, *each.splitlines(), *texts.secret_parts(each)):
            yield from spellings_of(part)
