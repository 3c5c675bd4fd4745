"""A report as Markdown, for the summary of a CI step or a comment on a pull request. Pure.

What users wrote is escaped so that it is text: no markup, no HTML, no link under other words, and
`@name` notifies no user.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra.review import finding_groups, summary
from trainer_infra.review.finding_groups import FindingGroup
from trainer_infra.review.report import Item, Report

_LIMIT: Final = 900_000
"""Bytes at most: GitHub refuses a step's summary of more than 1 MiB as a whole."""
_CELL: Final = 400
"""Characters of a cell at most."""
_LEFT_OUT: Final = "The rest is left out: it is too long for a summary. The other formats have all."
_ESCAPES: Final = {
    **{ord(each): f"&#{ord(each)};" for each in "&<>|`*_[]\\~#$!"},
    ord("@"): "@<!-- -->",
}


def markdown_text(report: Report) -> str:
    """The report: verdict, table by severity, findings by file, exemptions and notes."""
    rows = []
    for severity, count in summary.count_by_severity(report).items():
        same = [each for each in report.items if each.severity == severity]
        exempt = sum(each.excuse is not None and not each.excuse.is_expired for each in same)
        rows.append((severity, str(count), str(exempt), str(sum(each.is_known for each in same))))
    parts = (
        (f"## {summary.verdict(report)}",),
        (f"{summary.scope(report)}.",),
        _table(("Severity", "Findings", "Exempt", "In the baseline"), rows),
        _list("Could not be read", report.problems),
        _findings(report),
        _exemptions(report.items),
        _list("Exemptions that excuse nothing", report.unused),
        _notes(report),
        _unseen(report),
    )
    return _fitted(line for part in parts for line in (*part, ""))


def _fitted(lines: Iterable[str]) -> str:
    """The lines that fit into a summary, one blank line between two parts."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8")) + 1
        if size > _LIMIT:
            kept += ("", _LEFT_OUT)
            break
        kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip() + "\n"


def _findings(report: Report) -> Iterator[str]:
    groups = finding_groups.finding_groups(report)
    if groups:
        rows = [_row(each, fails=report.fails(each.first)) for each in groups]
        yield from ("### Findings", "")
        yield from _table(("Where", "Severity", "Rule", "Finding"), rows)
        yield ""
    yield from (f"{each}." for each in finding_groups.hidden_text(report))


def _row(group: FindingGroup, *, fails: bool) -> Sequence[str]:
    item, is_one = group.first, len(group.items) == 1
    severity = f"**{item.severity}**" if fails else str(item.severity)
    words = (
        (summary.clause(item), *summary.details(item))
        if is_one
        else (group.title(), *finding_groups.of_runtime_text(group.items))
    )
    told = (*words, *finding_groups.others_text(item, group.others))
    finding = "<br>".join((*map(_words, told), *map(_remark, summary.remarks(item))))
    rules = "<br>".join(_code(each) for each in dict.fromkeys(one.rule.id for one in group.items))
    return _code(summary.place_text(item.place)), severity, rules, finding


def _remark(words: str) -> str:
    shown = _words(words)
    return f"**{shown}**" if words.startswith(summary.EXPIRED) else shown


def _exemptions(items: Iterable[Item]) -> Iterator[str]:
    rows = []
    for each in items:
        if each.excuse is not None:
            state = "**EXPIRED**" if each.excuse.is_expired else "active"
            who, why = _words(each.excuse.owner), _words(each.excuse.reason)
            object_ = _code(summary.object_on_line(each))
            row = (_code(each.rule.id), object_, who, why, str(each.excuse.expires), state)
            rows.append(row)
    if rows:
        yield from ("### Exemptions", "")
        yield from _table(("Rule", "Object", "Owner", "Reason", "Expires", "State"), rows)


def _unseen(report: Report) -> Iterator[str]:
    if report.unseen:
        yield from ("### Could not be seen, and so was not judged", "")
        yield from (f"- {_code(summary.blind_text(each, report))}" for each in report.unseen)


def _notes(report: Report) -> Iterator[str]:
    if report.notes:
        yield from ("### Notes", "")
        rows = [
            (_words(title), "<br>".join(map(_words, note.splitlines())))
            for title, note in report.notes.items()
        ]
        yield from _table(("What", "Figures"), rows)


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"### {title}", "")
        yield from (f"- {_code(each)}" for each in lines)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _code(words: str) -> str:
    return f"<code>{_words(words)}</code>"


def _words(words: str) -> str:
    """As plain text of one line."""
    return summary.cut_line(words, _CELL).translate(_ESCAPES)
