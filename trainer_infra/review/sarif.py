"""A report as SARIF 2.1.0, the OASIS standard that code scanning and editors read. Pure.

Severities go by GitHub's scale of `security-severity` too. An exemption is a suppression; one that
has expired is a rejected suppression, so that viewers show the finding.
"""

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

from trainer_infra.json_values import JSONDict
from trainer_infra.review import as_json, finding_groups, inventory, summary
from trainer_infra.review.finding_groups import FindingGroup
from trainer_infra.review.report import Edit, Item, Report
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.rule import AnyRule

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT: Final = "%SRCROOT%"
_ROOT_IS: Final = "The folder of the repository; without one, that of the check"
FINGERPRINT: Final = "trainerInfra/v1"

_SCALES: Final = {
    Severity.LOW: ("note", "recommendation", "3.0"),
    Severity.MEDIUM: ("warning", "warning", "5.5"),
    Severity.HIGH: ("error", "error", "8.0"),
    Severity.CRITICAL: ("error", "error", "9.5"),
}
"""SARIF's level; what GitHub shows for rules that are not about security; and the score of one that is,
which GitHub takes for critical over 9.0, high from 7.0, medium from 4.0."""
_SECURITY: Final = frozenset({"supply-chain", "pod-security", "secrets"})
"""Tags of rules that are about security."""


def sarif_text(report: Report) -> str:
    """The report as one run."""
    rules = {each.id: each for each in (*report.rules, *(item.rule for item in report.items))}
    order = {each: index for index, each in enumerate(rules)}
    driver = {"name": "trainer-infra", "rules": [_rule(each) for each in rules.values()]}
    run: JSONDict = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": _message(_ROOT_IS)}},
        "invocations": [_invocation(report)],
        "results": [
            _result(each, group, order[each.rule.id], report)
            for group in finding_groups.groups_of(report.items)
            for each in group.items
        ],
        "properties": {
            "objects": report.objects,
            "files": len(report.files),
            "inventory": inventory.counted_files(report.inventory),
            **({"notes": dict(report.notes)} if report.notes else {}),
        },
    }
    return as_json.dumped_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, depth=4)


def _rule(rule: AnyRule) -> JSONDict:
    level, problem, score = _SCALES[rule.severity]
    return {
        "id": rule.id,
        "name": "".join(each.capitalize() for each in rule.id.split("-")),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why} {rule.fix}", "markdown": _help(rule)},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": list(dict.fromkeys(_tags(rule))),
            "security-severity": score,
            "problem.severity": problem,
            "precision": "high",
        },
    }


def _help(rule: AnyRule) -> str:
    frameworks = f"\n\nPart of {', '.join(rule.frameworks)}." if rule.frameworks else ""
    return f"**{rule.title}.**\n\n{rule.why}\n\n**What to do:** {rule.fix}{frameworks}"


def _tags(rule: AnyRule) -> Iterator[str]:
    if _SECURITY & {*rule.tags}:
        yield "security"
    yield from (*rule.tags, *rule.frameworks)


def _result(item: Item, group: FindingGroup, index: int, report: Report) -> JSONDict:
    """One finding for all objects that have it from one cause; the others are related locations."""
    fingerprint = finding_groups.cause(item) if group.others else item.fingerprint
    found: JSONDict = {
        "ruleId": item.rule.id,
        "ruleIndex": index,
        "level": _SCALES[item.severity][0],
        "message": _message(item.sentence()),
        "locations": [_location(item, report)],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "suppressions": list(_suppressions(item)),
        "properties": {
            "severity": item.severity,
            "seenAt": item.seen_at,
            "inside": item.inside,
            "layers": item.layers,
        },
    }
    if group.others:
        found["relatedLocations"] = [
            {**_location(each, report), "message": _message(summary.object_on_line(each))}
            for each in group.others
        ]
    if report.baseline:
        found["baselineState"] = "unchanged" if item.is_known else "new"
    # What a runtime says is mended there, and otherwise all have the same rule.
    edits = [edit for each in (item, *group.others) for edit in each.edits]
    if edits:
        found["fixes"] = [_fix(item, edits, report)]
    return found


def _location(item: Item, report: Report) -> JSONDict:
    physical: JSONDict = {"artifactLocation": _artifact(report.path(item.place.file))}
    if item.place.line:
        end = (item.place.end_line, item.place.end_column)
        span = _span((item.place.line, item.place.column), end)
        region: JSONDict = {name: number for name, number in span.items() if number}
        if item.place.excerpt:
            region["snippet"] = {"text": "\n".join(item.place.excerpt)}
        physical["region"] = region
    logical = {
        "name": summary.one_line(item.path) or summary.object_on_line(item),
        "fullyQualifiedName": f"{summary.object_on_line(item)}: {summary.one_line(item.path)}",
        "kind": "object",
        "properties": as_json.fields_wire(item, ("kind", "namespace", "name", "path")),
    }
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _artifact(file: str) -> JSONDict:
    """A file as a URI: of its whole path, else relative to the folder of the repository."""
    path = quote(file.encode("utf-8", "surrogatepass"))
    is_whole = path.startswith("/")
    return {"uri": f"file://{path}"} if is_whole else {"uri": path, "uriBaseId": _ROOT}


def _fix(item: Item, edits: Iterable[Edit], report: Report) -> JSONDict:
    by_file: dict[str, list[JSONDict]] = {}
    for each in edits:
        region = _span(each.start, each.end)
        replacement = {"deletedRegion": region, "insertedContent": {"text": each.text}}
        by_file.setdefault(report.path(each.file), []).append(replacement)
    changes = [
        {"artifactLocation": _artifact(file), "replacements": replacements}
        for file, replacements in by_file.items()
    ]
    return {"description": _message(item.fix or item.rule.fix), "artifactChanges": changes}


def _span(start: tuple[int, int], end: tuple[int, int]) -> JSONDict:
    (line, column), (end_line, end_column) = start, end
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _suppressions(item: Item) -> Iterator[JSONDict]:
    """None in an empty list says that it is not suppressed; the standard wants one everywhere."""
    if item.excuse is not None:
        why = next(summary.remarks(item))
        status = "rejected" if item.excuse.is_expired else "accepted"
        yield {"kind": "external", "status": status, "justification": why}


def _invocation(report: Report) -> JSONDict:
    unseen = (f"not seen: {summary.blind_text(each, report)}" for each in report.unseen)
    return {
        "executionSuccessful": not report.problems,
        "exitCode": report.exit_code(),
        "toolExecutionNotifications": [
            *(_notification("error", each) for each in report.problems),
            *(_notification("note", each) for each in unseen),
        ],
        "toolConfigurationNotifications": [
            _notification("warning", each) for each in report.unused
        ],
    }


def _notification(level: str, words: str) -> JSONDict:
    return {"level": level, "message": _message(words)}


def _message(words: str) -> JSONDict:
    """A message without the links that viewers make of `[words](address)`."""
    return {"text": summary.one_line(words).replace("](", "] (")}
