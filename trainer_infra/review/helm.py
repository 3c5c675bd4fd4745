"""A folder with a chart -> what `helm template` makes of it, placed in the templates.

Called by `sources`. Above each object helm writes what template it is from. A template in which the
actions are blanked out is YAML most of the time: that is where the fields' lines are from.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.review import documents, source_of_built, subprocess_tool
from trainer_infra.review.documents import Document
from trainer_infra.review.subprocess_tool import ToolFailure

NAME: Final = "Chart.yaml"
"""What the chart's file is called."""
_SOURCE: Final = "# Source: "
_ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_BLANK: Final = "\ue000"
"""Stands for a character of an action; no manifest has it."""


def is_one(folder: Path) -> bool:
    """Whether the folder is a chart."""
    return (folder / NAME).is_file()


def is_library(folder: Path) -> bool:
    """Whether it is only a part of other charts, which cannot be rendered by itself."""
    try:
        value = yaml.load((folder / NAME).read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(value, dict) and value.get("type") == "library"


def read_chart(folder: Path, values: Sequence[str] = ()) -> tuple[Document, ...]:
    """The objects that the chart renders to.

    Args:
        folder: as the user named it.
        values: files of values, the last one wins.

    Raises:
        NotAvailable: It cannot be rendered; a sentence.
        InvalidInput: What it renders to is not YAML.
    """
    helm = subprocess_tool.find_tool("helm")
    if helm is None:
        raise NotAvailable(
            "`helm` is needed to render it, and is not on PATH; install it, or pipe what it "
            f"renders: `helm template {folder} | trainer-infra check -`"
        )
    # Whole paths: helm looks for others in its repositories.
    options = [each for file in values for each in ("--values", os.path.realpath(file))]
    real = os.path.realpath(folder)
    try:
        text = subprocess_tool.tool_output([helm, "template", real, *options])
    except ToolFailure as error:
        words = subprocess_tool.whole_words(error.said).replace(real, str(folder))
        raise NotAvailable(f"cannot be rendered: {words}") from None
    return placed_chart(folder, text.decode("utf-8"))


def placed_chart(folder: Path, text: str) -> tuple[Document, ...]:
    """What was rendered, placed in the templates.

    Raises:
        InvalidInput: It is not YAML.
    """
    by_file: dict[str, list[JSONObject]] = {}
    for each in documents.read_documents(text, os.fspath(folder)):
        by_file.setdefault(_template(folder, each), []).append(each.value)
    return tuple(
        document
        for file, objects in by_file.items()
        for document in source_of_built.placed_document(objects, tuple(_written(file)), file)
    )


def skeleton(template: str) -> str:
    """The template with its actions blanked out; lines and columns stay as they are."""
    blanked = _ACTION.sub(lambda each: re.sub(r"[^\n]", _BLANK, each[0]), template)
    lines = ("" if not each.replace(_BLANK, "").strip() else each for each in blanked.split("\n"))
    return "\n".join(lines).replace(_BLANK, "x")


def _template(folder: Path, rendered: Document) -> str:
    """The template that an object is from; the chart's file where that is not in the folder."""
    line, _ = rendered.place(())
    above: list[str] = []
    while line > 0 and rendered.lines[line - 1] != "---":
        above.append(rendered.lines[line - 1])
        line -= 1
    # The first word is the chart's name, which its folder need not have.
    named = (each.removeprefix(_SOURCE) for each in reversed(above) if each.startswith(_SOURCE))
    inside = next(named, "").partition("/")[2]
    file = folder / inside if inside and (folder / inside).is_file() else folder / NAME
    return os.fspath(file)


def _written(file: str) -> Iterator[Document]:
    """The objects of a template; none where it is not YAML even so, or has a field twice."""
    try:
        text = Path(file).read_text(encoding="utf-8")
        found = documents.read_documents(skeleton(text), file)
    except (OSError, ValueError, InvalidInput):
        return
    lines = tuple(text.splitlines())
    if not any(each.source and each.source.findings for each in found):
        yield from (replace(each, lines=lines) for each in found)
