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
from trainer_infra.review.report import DIGITS, Excuse, Item, Place, object_name
from trainer_infra.rules import tree
from trainer_infra.rules.exemption import Exemption, State
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.subject import Subject

_SHOWN: Final = 120
"""Characters of a value in a report."""
MOST_LINES: Final = 5
"""Lines of an excerpt."""
_PATCHES: Final = ("spec", "runtimePatches")
_JSON: Final = json.JSONEncoder(default=str)


def item_of(
    document: Document,
    subject: Subject,
    found: tuple[ConfiguredRule, OfYaml],
    excuse: Excuse | None,
    hidden: ReportRedaction,
) -> Item:
    """What a rule says of a document, which rules read as the subject, without what is hidden."""
    chosen, finding = found
    of_rule = finding if isinstance(finding, Finding) else Finding(finding.path, finding.what)
    is_of_runtime = of_rule.inherited or _is_for_runtime(document, finding.path)
    runtime = tree.runtime_reference(document.value) if is_of_runtime else None
    place = place_in_document(document, finding.path)
    layers = () if document.says(finding.path) else document.layers
    if document.values and place.file != document.file:
        # What takes the value.
        layers = (document.file,)
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
        runtime=object_name(*runtime) if runtime else "",
        place=place,
        fingerprint=fingerprint(chosen.rule.id, document.value, finding.path, finding.what),
        folders=document.deployed_from,
        layers=layers,
        edits=edits.edits(document, of_rule.patch),
        excuse=excuse,
    )
    return hidden.item(item)


def _is_for_runtime(document: Document, path: Path) -> bool:
    """Whether what the runtime lacks is told where the object could patch it, and does not."""
    return path == _PATCHES and documents.value_at(document.value, path) is None


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
    named = (("kind",), ("metadata", "namespace"), ("metadata", "name"))
    whose = [documents.value_at(value, each) for each in named]
    place: list[str] = []
    at: Any = value
    for key in path:
        at = documents.value_at(at, (key,))
        name = documents.value_at(at, ("name",)) if isinstance(key, int) else None
        shown = key if name is None else name
        place.append(f"[{shown}]" if isinstance(key, int) else str(key))
    text = _JSON.encode([rule, whose, place, what])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
