"""A report as workflow commands, which a GitHub runner shows as annotations at the lines. Pure.

GitHub shows the first ten of each kind in a step: what fails the check comes first.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trainer_infra.review import finding_groups, summary
from trainer_infra.review.report import Item, Place, Report
from trainer_infra.rules.finding import Severity

_MESSAGE: Final = 4000
"""Characters of a message at most: GitHub cuts what is much longer."""
_TITLE: Final = 200
_ERROR: Final = "error"
_WARNING: Final = "warning"
_NOTICE: Final = "notice"
_ORDER: Final = (_ERROR, _WARNING, _NOTICE)

Command = tuple[str, Mapping[str, str | int], str]
"""Name, properties and message."""


def github_text(report: Report) -> str:
    """The report: errors, warnings, notices, and what came of the check on a line of its own."""
    commands = sorted(_commands(report), key=lambda each: _ORDER.index(each[0]))
    lines = [_written(*each) for each in commands]
    return "".join(f"{line}\n" for line in (*lines, f"{summary.verdict(report)}."))


def _commands(report: Report) -> Iterator[Command]:
    for each in report.problems:
        yield _ERROR, {"title": "could not be read"}, summary.one_line(each)
    worst_first = tuple(reversed(Severity))
    groups = finding_groups.finding_groups(report)
    shown = ((each, group.others) for group in groups for each in group.items)
    for item, others in sorted(shown, key=lambda each: worst_first.index(each[0].severity)):
        name = _WARNING if item.counts else _NOTICE
        yield _of(_ERROR if report.fails(item) else name, item, others, report)
    for each in report.unused:
        yield _WARNING, {"title": "exemption that excuses nothing"}, summary.one_line(each)
    for title, note in report.notes.items():
        yield _NOTICE, {"title": summary.cut_line(title, _TITLE)}, summary.one_line(note)
    for unseen in report.unseen:
        name = _ERROR if unseen.fails else _NOTICE
        yield name, {"title": "could not be seen"}, summary.blind_text(unseen, report)


def _of(name: str, item: Item, others: Sequence[Item], report: Report) -> Command:
    title = summary.cut_line(f"{item.severity} {item.rule.id}: {item.rule.title}", _TITLE)
    alike = finding_groups.others_text(item, others)
    lines = (summary.clause(item), *summary.details(item), *summary.remarks(item), *alike)
    return name, {**_place(item.place, report), "title": title}, "\n".join(lines)


def _place(place: Place, report: Report) -> dict[str, str | int]:
    """Where it is; a runner refuses columns of a value on several lines."""
    if not place.line:
        return {}
    column = place.column if place.end_line in {0, place.line} else 0
    numbers = {"line": place.line, "col": column, "endLine": place.end_line}
    return {
        "file": report.path(place.file),
        **{name: each for name, each in numbers.items() if each},
    }


def _written(name: str, properties: Mapping[str, str | int], message: str) -> str:
    fields = ",".join(f"{key}={_property(str(each))}" for key, each in properties.items())
    cut = message if len(message) <= _MESSAGE else f"{message[:_MESSAGE]}…"
    return f"::{name} {fields}::{_data(cut)}"


def _data(words: str) -> str:
    """As a runner reads it back: its escapes are those of three characters only."""
    safe = words.encode("utf-8", "replace").decode("utf-8")
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")
