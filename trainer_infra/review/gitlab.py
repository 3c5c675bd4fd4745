"""A report as GitLab's code quality report, which a merge request shows at the lines. Pure.

GitLab tells what is new by the fingerprints of the target branch's last report. A place without a
line, as that of an object of a cluster, is shown at the first one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from trainer_infra.json_values import JSONDict
from trainer_infra.review import as_json, summary
from trainer_infra.review.report import Item, Report
from trainer_infra.rules.finding import Severity

_SEVERITIES: Final[Mapping[Severity, str]] = {
    Severity.LOW: "minor",
    Severity.MEDIUM: "major",
    Severity.HIGH: "critical",
    Severity.CRITICAL: "blocker",
}
"""GitLab's words, of which `info` is the mildest."""


def gitlab_text(report: Report) -> str:
    """The findings that count: what is exempt or known is left out."""
    return as_json.dumped_json(
        list(_issues((each for each in report.items if each.counts), report))
    )


def _issues(items: Iterable[Item], report: Report) -> Iterator[JSONDict]:
    seen: Counter[str] = Counter()
    for item in items:
        seen[item.fingerprint] += 1
        # A fingerprint names one finding: the same object may stand in several files.
        times = seen[item.fingerprint]
        sentences = (summary.one_line(item.sentence()), *summary.changed_by(item))
        yield {
            "description": ". ".join(sentences),
            "check_name": item.rule.id,
            "fingerprint": item.fingerprint if times == 1 else f"{item.fingerprint}-{times}",
            "severity": _SEVERITIES[item.severity],
            "location": {
                "path": summary.one_line(report.path(item.place.file).removeprefix("./")),
                "lines": {"begin": max(1, item.place.line)},
            },
        }
