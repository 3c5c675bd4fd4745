"""A report as JUnit XML, which every CI system shows as tests. Pure.

A suite is a file, a case is a rule that an object of it breaks, or says that there is none. JUnit
has no standard: this is what the schemas of Jenkins (`junit-10.xsd` of its xUnit plugin) and of Ant
have in common, and `skipped` and the output of a case, which Ant's does not know. It has no time and
no host: the same report is the same text.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Final

from trainer_infra.review import summary
from trainer_infra.review.report import Item, Report

_MESSAGE: Final = 1000
"""Characters of an attribute at most; the text of the element has all."""


def junit_text(report: Report) -> str:
    """The report: what fails the check is a failure, what could not be read an error."""
    root = ET.Element("testsuites")
    by_file: dict[str, list[Item]] = {report.path(file): [] for file in report.files}
    for each in report.items:
        by_file.setdefault(report.path(each.place.file), []).append(each)
    for file in sorted(by_file):
        name = summary.one_line(file).strip() or "-"
        suite = _add_suite(root, name)
        for same in _by_case(by_file[file]):
            _add_case(suite, same, report)
        if not by_file[file]:
            _add_passed(suite, "no finding", name)
    _add_check(root, report)
    for suite in root:
        # The suite with its output, which Ant wants to be there, and its figures.
        if suite.find("system-out") is None:
            ET.SubElement(suite, "system-out")
        ET.SubElement(suite, "system-err")
        tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
        for name, tag in tags.items():
            suite.set(name, str(sum(1 for _ in suite.iter(tag))))
        suite.set("time", "0")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _by_case(items: Iterable[Item]) -> list[list[Item]]:
    cases: dict[tuple[str, str], list[Item]] = {}
    for each in items:
        cases.setdefault((summary.object_on_line(each), each.rule.id), []).append(each)
    return list(cases.values())


def _add_case(suite: ET.Element, items: list[Item], report: Report) -> None:
    first = items[0]
    case = _add_passed(suite, first.rule.id, summary.object_on_line(first))
    failed = [each for each in items if report.fails(each)]
    others = [each for each in items if not report.fails(each)]
    if failed:
        _add(case, "failure", failed[0].severity, [_told(each, report) for each in failed])
    elif not any(each.counts for each in others):
        reasons = [", ".join(summary.remarks(each)) for each in others]
        _add(case, "skipped", "exempt" if first.excuse else "known", reasons)
    if others:
        ET.SubElement(case, "system-out").text = "\n\n".join(_told(e, report) for e in others)


def _add(case: ET.Element, tag: str, type_: str, told: list[str]) -> None:
    message = summary.cut_line(told[0].partition("\n")[0], _MESSAGE)
    ET.SubElement(case, tag, type=type_, message=message).text = "\n\n".join(told)


def _told(item: Item, report: Report) -> str:
    """The finding with its place, on lines of its own."""
    place, file = item.place, summary.one_line(report.path(item.place.file))
    at = ":".join(map(str, filter(None, (file, place.line, place.column))))
    what = f"{item.severity}: {summary.clause(item)}"
    return "\n".join((what, f"At {at}", *summary.details(item), *summary.remarks(item)))


def _add_check(root: ET.Element, report: Report) -> None:
    """What is said of the check and not of a file."""
    suite = _add_suite(root, "check")
    for number, each in enumerate(report.problems, 1):
        case = _add_passed(suite, f"could be read {number}", "check")
        _add(case, "error", "unread", [summary.one_line(each)])
    if not report.problems:
        _add_passed(suite, "could be read", "check")
    for number, unseen in enumerate(report.blind(), 1):
        case = _add_passed(suite, f"could be seen {number}", "check")
        _add(case, "failure", "unseen", [summary.blind_text(unseen, report)])
    notes = (tuple(map(summary.one_line, each)) for each in report.notes.items())
    lines = (
        *(f"not seen: {summary.blind_text(each, report)}" for each in report.unseen),
        *(f"unused: {summary.one_line(each)}" for each in report.unused),
        *(f"note: {title}: {note}" for title, note in notes),
        *(summary.scope(report), summary.tally(report), summary.verdict(report)),
    )
    ET.SubElement(suite, "system-out").text = "\n".join(lines)


def _add_suite(root: ET.Element, name: str) -> ET.Element:
    number = str(len(root))
    suite = ET.SubElement(root, "testsuite", name=name, id=number, package="trainer-infra")
    ET.SubElement(suite, "properties")
    return suite


def _add_passed(suite: ET.Element, name: str, of: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", name=name, classname=of, time="0")
