"""One finding of a document as reports have it: placed, known again, and without secrets. Pure."""

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding as OfYaml
from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import shown
from trainer_infra.review import documents, edits
from trainer_infra.review.documents import Document
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import Excuse, Item, Place, object_name
from trainer_infra.rules import tree
from trainer_infra.rules.exemption import Exemption, State
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.subject import Subject

_SHOWN: Final = 120
"""Characters of a value in a report."""
MOST_LINES: Final = 5
"""Lines of an excerpt."""
DIGITS: Final = 16
_JSON: Final = json.JSONEncoder(default=str)


def item_of(
    document: Document,
    subject: Subject,
    found: tuple[ConfiguredRule, OfYaml],
    excuse: Excuse | None,
    hidden: ReportRedaction,
) -> Item:
    """The finding in the report.

    Args:
        document: What it was found in.
        subject: The same as rules read it.
        found: The rule and what it says.
        excuse: The exemption that it falls under.
        hidden: What is not to be told.
    """
    chosen, finding = found
    of_rule = finding if isinstance(finding, Finding) else Finding(finding.path, finding.what)
    item = Item(
        rule=chosen.rule,
        severity=chosen.severity,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        path=path_text(finding.path),
        what=finding.what,
        got="" if finding.got is None else shown(hidden.value(finding.got), _SHOWN),
        fix=finding.fix,
        seen_at=of_rule.seen_at,
        runtime=_runtime(document) if of_rule.inherited else "",
        place=place_in_document(document, finding.path),
        fingerprint=fingerprint(chosen.rule.id, document.value, finding.path, finding.what),
        folders=document.deployed_from,
        layers=() if document.says(finding.path) else document.layers,
        edits=edits.edits(document, of_rule.patch),
        excuse=excuse,
    )
    return hidden.item(item)


def _runtime(document: Document) -> str:
    reference = tree.runtime_reference(document.value)
    return object_name(*reference) if reference else ""


def excuse_of(exemption: Exemption, today: date) -> Excuse:
    """The exemption as reports have it."""
    expired = exemption.state(today) == State.EXPIRED
    return Excuse(exemption.owner, exemption.reason, exemption.expires, expired)


def place_in_document(document: Document, path: Path) -> Place:
    """Where what stands at a path, or what is nearest above it, is written."""
    text, whole = documents.written_place(document, path)
    if text.source is None:
        return Place(text.file)
    line, column = text.place(whole)
    end_line, end_column = text.end(whole)
    excerpt = text.lines[line - 1 : min(end_line, line - 1 + MOST_LINES)]
    return Place(text.file, line, column, end_line, end_column, excerpt or ("",))


def fingerprint(rule: str, value: Mapping[str, Any], path: Path, what: str) -> str:
    """16 hex digits by which baselines and SARIF know a finding when its file is edited elsewhere.

    They are of rule, object, place and clause; positions in lists are names where they can be.
    """
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    whose = [value.get("kind"), named.get("namespace"), named.get("name")]
    place: list[str] = []
    at: Any = value
    for key in path:
        if isinstance(key, int):
            at = at[key] if isinstance(at, list) and key < len(at) else None
            name = at.get("name") if isinstance(at, Mapping) else None
            place.append(f"[{name if name is not None else key}]")
        else:
            at = at.get(key) if isinstance(at, Mapping) else None
            place.append(str(key))
    text = _JSON.encode([rule, whose, place, what])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
