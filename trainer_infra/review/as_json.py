"""A report for other programs, as JSON. Pure.

`formatVersion` is raised when a key changes its meaning or goes; keys may come.
"""

import json
from typing import Any

from trainer_infra.review import summary
from trainer_infra.review.report import FORMAT_VERSION, Edit, Excuse, Item, Place, Report, Unseen
from trainer_infra.rules.rule import AnyRule

JSON = dict[str, Any]


def text(report: Report) -> str:
    """All of the report, in its order."""
    failing = {id(each) for each in report.failing()}
    return dumped(
        {
            "formatVersion": FORMAT_VERSION,
            "exitCode": report.exit_code(),
            "failOn": report.fail_on,
            "verdict": summary.verdict(report),
            "objects": report.objects,
            "files": report.files,
            "counts": summary.counted(report),
            "findings": [_item(each, fails=id(each) in failing) for each in report.items],
            "unseen": [_unseen(each) for each in report.unseen],
            "unusedExemptions": report.unused,
            "problems": report.problems,
            "notes": dict(report.notes),
            "rules": [_rule(each) for each in report.rules],
        }
    )


def dumped(value: Any, depth: int = 2) -> str:
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


def _item(item: Item, *, fails: bool) -> JSON:
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
        "place": _place(item.place),
        "fingerprint": item.fingerprint,
        "edits": [_edit(each) for each in item.edits],
        "exemption": _excuse(item.excuse) if item.excuse else None,
        "isKnown": item.is_known,
        "counts": item.counts,
        "fails": fails,
    }


def _place(place: Place) -> JSON:
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
        "excerpt": place.excerpt,
    }


def _edit(edit: Edit) -> JSON:
    return {
        "file": edit.file,
        "start": {"line": edit.start[0], "column": edit.start[1]},
        "end": {"line": edit.end[0], "column": edit.end[1]},
        "text": edit.text,
    }


def _excuse(excuse: Excuse) -> JSON:
    return {
        "owner": excuse.owner,
        "reason": excuse.reason,
        "expires": excuse.expires.isoformat(),
        "isExpired": excuse.is_expired,
    }


def _unseen(unseen: Unseen) -> JSON:
    return {
        "kind": unseen.kind,
        "name": unseen.name,
        "path": unseen.path,
        "rules": unseen.rules,
    }


def _rule(rule: AnyRule) -> JSON:
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity,
        "kinds": sorted(rule.kinds),
        "tags": rule.tags,
        "frameworks": rule.frameworks,
        "why": rule.why,
        "fix": rule.fix,
        "remediates": rule.remediates,
    }
