"""A report for other programs, as JSON. Pure.

Keys may come: see `FORMAT_VERSION`.
"""

import json
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from typing import Any, Final

from pydantic.alias_generators import to_camel

from trainer_infra.json_values import JSONDict
from trainer_infra.review import summary
from trainer_infra.review.inventory import SourceFile
from trainer_infra.review.report import QUOTING, Edit, Excuse, Item, Place, Report, UnseenRule
from trainer_infra.rules.rule import AnyRule

FORMAT_VERSION: Final = 1
"""Raised when a key changes its meaning or goes."""
_camel: Final = cache(to_camel)


def json_text(report: Report) -> str:
    """All of the report, in its order."""
    return dumped_json(
        {
            "formatVersion": FORMAT_VERSION,
            "exitCode": report.exit_code(),
            "failOn": report.fail_on,
            "verdict": summary.verdict(report),
            "objects": report.objects,
            "unchanged": report.unchanged,
            "unjudged": dict(report.unjudged),
            "files": report.files,
            "inventory": [fields_wire(each) for each in report.inventory],
            "counts": summary.count_by_severity(report),
            "findings": [_item(each, fails=report.fails(each)) for each in report.items],
            "unseen": [fields_wire(each) for each in report.unseen],
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

    So many levels have a line for each of their parts; what is below is on one line, which the encoder
    writes ten times as fast.
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
    excuse = item.excuse
    return {
        "rule": item.rule.id,
        **fields_wire(item, ("severity", *QUOTING)),
        "place": fields_wire(item.place),
        "layers": item.layers,
        "fingerprint": item.fingerprint,
        "edits": [_edit(each) for each in item.edits],
        "exemption": {**fields_wire(excuse), "expires": f"{excuse.expires}"} if excuse else None,
        "isKnown": item.is_known,
        "isUnchanged": item.is_unchanged,
        "counts": item.counts,
        "fails": fails,
    }


def fields_wire(
    value: Item | Place | Excuse | UnseenRule | SourceFile, names: Iterable[str] = ()
) -> JSONDict:
    """Fields of a part of the report, all of them where none is named."""
    chosen = names or (each.name for each in fields(value))
    return {_camel(name): getattr(value, name) for name in chosen}


def _edit(edit: Edit) -> JSONDict:
    start, end = ({"line": line, "column": column} for line, column in (edit.start, edit.end))
    return {"file": edit.file, "start": start, "end": end, "text": edit.text}
