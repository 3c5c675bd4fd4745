"""A report for people at a terminal: findings by file with the lines that they are on. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from trainer_infra.review import finding_groups, summary
from trainer_infra.review.finding_groups import FindingGroup
from trainer_infra.review.report import Place, Report
from trainer_infra.rules.finding import Severity

Paint = Callable[[str, str], str]
"""Words, and the style that they are shown in -> what is written."""

STYLES: Final[Mapping[str, str]] = {
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "yellow",
    Severity.LOW: "cyan",
}
"""How a severity is shown, here and in lists of rules."""
_LOUD: Final = "bold white on red"
_WIDTH: Final = 120
"""Characters of a source line that are shown at most."""
_BEFORE: Final = 40
"""Characters of a longer one that are shown before the column."""
_SENTENCE: Final = 1000
"""Characters of a sentence that are shown at most."""
_COMPLAINT: Final = 4000
"""Characters of what could not be read: what a tool says begins with where it was, layer by layer."""


def report_text(report: Report, colour: bool) -> str:
    """The report, one finding below the other; `colour` has ANSI escapes in it."""
    paint = _ansi if colour else _plain
    lines: list[str] = []
    groups = finding_groups.finding_groups(report)
    for _, alike in groupby(groups, lambda each: each.first.place.file):
        lines += (line for each in alike for line in _group(each, paint))
        lines.append("")
    blind = (summary.blind_text(each, report) for each in report.unseen)
    lines += _section("Could not be seen, and so was not judged:", blind, paint)
    lines += _section("Exemptions that excuse nothing:", report.unused, paint)
    lines += _section("Could not be read:", report.problems, paint, _COMPLAINT)
    for title, note in report.notes.items():
        lines += _section(f"{_begin(title)}:", note.splitlines() or [""], paint)
    tally = "; ".join((summary.tally(report), *finding_groups.hidden_text(report)))
    style = "bold red" if report.exit_code() else "bold green"
    verdict = paint(f"{summary.verdict(report)}.", style)
    lines += (summary.scope(report), tally, verdict)
    return "".join(f"{line}\n" for line in lines)


def _plain(words: str, _style: str) -> str:
    return words


def _ansi(words: str, style: str) -> str:
    from rich.color import ColorSystem  # noqa: PLC0415  only where there are colours
    from rich.style import Style  # noqa: PLC0415  the same

    return Style.parse(style).render(words, color_system=ColorSystem.STANDARD)


def _group(group: FindingGroup, paint: Paint) -> Iterator[str]:
    item, is_one = group.first, len(group.items) == 1
    severity = paint(item.severity, STYLES[item.severity] if item.counts else "dim")
    clause = f"{item.rule.id}: {summary.clause(item)}" if is_one else group.title()
    where = paint(_where(item.place), "bold")
    yield f"{where}: {severity} {summary.cut_line(clause, _SENTENCE)}"
    yield from _excerpt(item.place, paint)
    of_one = {
        "inside": item.inside,
        "seen at": item.seen_at,
        "changed by": ", ".join(item.layers),
        "fix": item.fix,
    }
    told = (f"{name}: {words}" for name, words in of_one.items() if words)
    for each in told if is_one else finding_groups.of_runtime_text(group.items):
        yield f"    {summary.cut_line(each, _SENTENCE)}"
    for each in summary.remarks(item):
        yield f"    {paint(each, _LOUD if each.startswith(summary.EXPIRED) else 'dim')}"
    for each in finding_groups.others_text(item, group.others):
        yield f"    {summary.cut_line(each, _SENTENCE)}"


def _where(place: Place) -> str:
    """`file:line:column`."""
    numbers = (place.line, place.column) if place.line else ()
    return ":".join((_begin(place.file), *(str(each) for each in numbers if each)))


def _begin(words: str) -> str:
    """Words that start a line, not as the commands of CI runners start."""
    shown = summary.one_line(words)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def _excerpt(place: Place, paint: Paint) -> Iterator[str]:
    last = place.line + len(place.excerpt) - 1
    for number, raw in enumerate(place.excerpt, place.line):
        column = place.column if number == place.line else 0
        margin = f"    {number:>{len(str(last))}} | "
        start = max(0, column - 1 - _BEFORE) if len(raw) > _WIDTH else 0
        before = "…" if start else ""
        after = "…" if start + _WIDTH < len(raw) else ""
        yield f"{margin}{before}{summary.one_line(raw[start : start + _WIDTH])}{after}"
        if column:
            indent = _width(before + summary.one_line(raw[start : column - 1]))
            marked = raw[column - 1 : min(_end(place, raw), start + _WIDTH)]
            carets = "^" * max(1, _width(summary.one_line(marked)))
            yield f"{' ' * (len(margin) - 2)}| {' ' * indent}{paint(carets, 'bold red')}"


def _width(words: str) -> int:
    """How many columns of a terminal they take."""
    if words.isascii():
        return len(words)
    from rich.cells import cell_len  # noqa: PLC0415  only where there are other characters

    return cell_len(words)


def _end(place: Place, raw: str) -> int:
    """How many characters of the first line there are before what is behind the value."""
    is_one_line = place.end_line in {0, place.line} and place.end_column
    return min(place.end_column - 1, len(raw)) if is_one_line else len(raw.rstrip())


def _section(
    title: str, lines: Iterable[str], paint: Paint, longest: int = _SENTENCE
) -> Iterator[str]:
    told = [f"    - {summary.cut_line(each, longest)}" for each in lines]
    if told:
        yield paint(title, "bold")
        yield from told
        yield ""
