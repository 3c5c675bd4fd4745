"""A report for other programs, as JSON. Pure.

Keys may come: see `FORMAT_VERSION`.
"""

import json
from typing import Any, Final

from trainer_infra.json_values import JSONDict
from trainer_infra.review import summary
from trainer_infra.review.report import Edit, Excuse, Item, Place, Report, UnseenRule
from trainer_infra.rules.rule import AnyRule

FORMAT_VERSION: Final = 1
"""Raised when a key changes its meaning or goes."""


def json_text(report: Report) -> str:
    """All of the report, in its order."""
    return dumped_json(
        {
            "formatVersion": FORMAT_VERSION,
            "exitCode": report.exit_code(),
            "failOn": report.fail_on,
            "verdict": summary.verdict(report),
            "objects": report.objects,
            "unjudged": dict(report.unjudged),
            "files": report.files,
            "counts": summary.count_by_severity(report),
            "findings": [_item(each, fails=report.fails(each)) for each in report.items],
            "unseen": [_unseen(each) for each in report.unseen],
            "unusedExemptions": report.unused,
            "problems": report.problems,
            "notes": dict(report.notes),
            "baseline": report.baseline or None,
            "rules": [rule_wire(each) for each in report.rules],
        }
    )


def rule_wire(told: AnyRule) -> JSONDict:
    """A rule for other programs."""
    return {
        "id": told.id,
        "title": told.title,
        "severity": told.severity,
        "kinds": sorted(told.kinds),
        "tags": told.tags,
        "frameworks": told.frameworks,
        "why": told.why,
        "fix": told.fix,
        "remediates": told.remediates,
    }


def dumped_json(value: Any, depth: int = 2) -> str:
    """JSON with characters as they are; those that UTF-8 does not have as `?`.

    Args:
        value: What is written.
        depth: How many levels have a line for each of their parts; what is below is on one line,
            which the encoder writes ten times as fast.
    """
    return f"{_lines(value, depth, '')}\n".encode("utf-8", "replace").decode("utf-8")


def _lines(value: Any, depth: int, indent: str) -> str:
    if not depth or not value or not isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False)
    more = f"{indent}  "
    if isinstance(value, dict):
        parts = [f"{_lines(key, 0, more)}: {_lines(value[key], depth - 1, more)}" for key in value]
        start, end = "{", "}"
    else:
        parts = [_lines(each, depth - 1, more) for each in value]
        start, end = "[", "]"
    return f"{start}\n{more}" + f",\n{more}".join(parts) + f"\n{indent}{end}"


def _item(item: Item, *, fails: bool) -> JSONDict:
    return {
        "rule": item.rule.id,
        "severity": item.severity,
        "kind": item.kind,
        "namespace": item.namespace,
        "name": item.name,
        "path": item.path,
        "what": item.what,
        "got": item.got,
        "fix": item.fix,
        "seenAt": item.seen_at,
        "runtime": item.runtime,
        "place": _place(item.place),
        "layers": item.layers,
        "fingerprint": item.fingerprint,
        "edits": [_edit(each) for each in item.edits],
        "exemption": _excuse(item.excuse) if item.excuse else None,
        "isKnown": item.is_known,
        "counts": item.counts,
        "fails": fails,
    }


def _place(place: Place) -> JSONDict:
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
        "excerpt": place.excerpt,
    }


def _edit(edit: Edit) -> JSONDict:
    return {
        "file": edit.file,
        "start": {"line": edit.start[0], "column": edit.start[1]},
        "end": {"line": edit.end[0], "column": edit.end[1]},
        "text": edit.text,
    }


def _excuse(excuse: Excuse) -> JSONDict:
    return {
        "owner": excuse.owner,
        "reason": excuse.reason,
        "expires": excuse.expires.isoformat(),
        "isExpired": excuse.is_expired,
    }


def _unseen(unseen: UnseenRule) -> JSONDict:
    return {
        "kind": unseen.kind,
        "namespace": unseen.namespace,
        "name": unseen.name,
        "path": unseen.path,
        "rules": unseen.rules,
        "fails": unseen.fails,
    }
