"""Where an object of a chart inside a chart is written.

Helm names a template by the dependency that it comes through: its alias, where it has one. One that
is not in the folder, because the chart is packed, stands at its dependency.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.review.documents import Document, items_at, value_at

NAME: Final = "Chart.yaml"
"""What the chart's file is called."""
FOLDER: Final = "charts"
"""The folder of the charts that a chart is made with."""


def template_file(folder: Path, template: str) -> Path | None:
    """The file of a template; None where it is not in the chart's folder.

    Args:
        folder: of the chart.
        template: as helm names it, without the chart's name.
    """
    if template and (folder / template).is_file():
        return folder / template
    name, below = _dependency(template)
    for each in _dependencies(folder) if name else ():
        own = folder / FOLDER / str(each.get("name"))
        if name in {each.get("alias"), each.get("name")} and own.is_dir():
            return template_file(own, below)
    return None


def dependency_document(value: JSONObject, folder: Path, template: str) -> Document:
    """An object, placed at the dependency of the chart that it comes through."""
    file = folder / NAME
    name, _ = _dependency(template)
    for text in _texts(folder):
        for index, each in enumerate(items_at(text.value, "dependencies")):
            if name and name in {value_at(each, ("alias",)), value_at(each, ("name",))}:
                start = ("dependencies", index)
                return Document(value, str(file), text.source, start, text.lines, is_editable=False)
    return Document(value, str(file), None, is_editable=False)


def _dependency(template: str) -> tuple[str, str]:
    """The dependency that a template comes through, and the template there; empty for none."""
    first, _, rest = template.partition("/")
    name, _, below = rest.partition("/")
    return (name, below) if first == FOLDER else ("", "")


def _dependencies(folder: Path) -> Iterator[dict[str, Any]]:
    for text in _texts(folder):
        yield from (each for each in items_at(text.value, "dependencies") if isinstance(each, dict))


def _texts(folder: Path) -> Iterator[Document]:
    """The chart's file; nothing where it cannot be read."""
    file = str(folder / NAME)
    try:
        text = Path(file).read_text(encoding="utf-8")
        found = yaml_source.read_yaml(text, file)
    except (OSError, ValueError, InvalidInput):
        return
    lines = tuple(text.splitlines())
    yield from (Document(each.value, file, each, (), lines) for each in found)
