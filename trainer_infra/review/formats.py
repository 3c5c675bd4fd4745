"""The formats of a report by name: what `--format` may be."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from trainer_infra.review import as_json, github, gitlab, junit, markdown, sarif, text
from trainer_infra.review.report import Report

FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": partial(text.text, colour=False),
    "json": as_json.text,
    "sarif": sarif.text,
    "junit": junit.text,
    "github": github.text,
    "gitlab": gitlab.text,
    "markdown": markdown.text,
}
"""By name; `text` without colours."""
