"""The formats of a report by name: what `--format` may be."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from trainer_infra.review import as_json, github, gitlab, junit, markdown, sarif, text
from trainer_infra.review.report import Report

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": partial(text.report_text, colour=False),
    "json": as_json.json_text,
    "sarif": sarif.sarif_text,
    "junit": junit.junit_text,
    "github": github.github_text,
    "gitlab": gitlab.gitlab_text,
    "markdown": markdown.markdown_text,
}
"""By name; `text` without colours."""
