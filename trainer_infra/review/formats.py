"""The formats of a report by name: what `--format` may be.

A format's module is imported when a report is written in it: few checks write more than one.
"""
# ruff: noqa: PLC0415  a format's module is imported when it is written

from collections.abc import Callable, Mapping
from typing import Final

from trainer_infra.review.report import Report


def _text(report: Report) -> str:
    from trainer_infra.review import text

    return text.report_text(report, colour=False)


def _json(report: Report) -> str:
    from trainer_infra.review import as_json

    return as_json.json_text(report)


def _sarif(report: Report) -> str:
    from trainer_infra.review import sarif

    return sarif.sarif_text(report)


def _junit(report: Report) -> str:
    from trainer_infra.review import junit

    return junit.junit_text(report)


def _github(report: Report) -> str:
    from trainer_infra.review import github

    return github.github_text(report)


def _gitlab(report: Report) -> str:
    from trainer_infra.review import gitlab

    return gitlab.gitlab_text(report)


def _markdown(report: Report) -> str:
    from trainer_infra.review import markdown

    return markdown.markdown_text(report)


FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
    "gitlab": _gitlab,
    "markdown": _markdown,
}
"""By name; `text` without colours."""
