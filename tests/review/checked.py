"""Texts and folders, checked by the rules."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from trainer_infra.review import check, source_objects
from trainer_infra.review.check import CheckScope
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Report
from trainer_infra.rules import pack
from trainer_infra.rules.configuration import (
    Configuration,
    ResolvedConfiguration,
    resolve_configuration,
)
from trainer_infra.rules.pack import Pack, Selection

TODAY = date(2026, 11, 22)


def by(*rules: str, **configuration: Any) -> ResolvedConfiguration:
    """What holds for these rules; all that we have where none is named."""
    chosen = Pack("test", selection=Selection(ids=rules or None))
    return resolve_configuration(Configuration(**configuration), None, chosen)


def of(documents: Sequence[Document], *rules: str, **asked: Any) -> Report:
    return check.check_documents(documents, CheckScope(by(*rules), TODAY, **asked))


def of_text(text: str, *rules: str, file: str = "a.yaml", **asked: Any) -> Report:
    found = source_objects.of_text(text, file)
    assert found.problems == ()
    return of(found.documents, *rules, **asked)


def document(value: dict[str, Any], file: str = "a.yaml") -> Document:
    """An object as if it stood in a file, without places in it."""
    return Document(value, file, None, is_editable=False)


def places(report: Report) -> list[tuple[str, str, int, str]]:
    """Rule, file, line and path of each finding."""
    return [(each.rule.id, each.place.file, each.place.line, each.path) for each in report.items]


assert pack.pack_rules(by().pack), "there are no rules"
