"""A folder with a chart -> what `helm template` makes of it, placed in the templates.

Above each object helm writes what template it is from; `template_text` makes YAML of that, which is
where the fields' lines are from.

Helm names a template by the dependency that it comes through: its alias, where it has one. One that
is not in the folder, because the chart is packed, stands at its dependency.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_infra.api.finding import FieldFinding, path_text
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.json_values import JSONObject, json_leaves
from trainer_infra.review import (
    documents,
    plain_secret,
    source_of_built,
    subprocess_tool,
    template_text,
)
from trainer_infra.review.documents import Document, Part, items_at, value_at
from trainer_infra.review.subprocess_tool import ToolFailure
from trainer_infra.runs.redaction import Redaction
from trainer_infra.secret_texts.variable_names import says_secret

NAME: Final = "Chart.yaml"
"""What the chart's file is called."""
FOLDER: Final = "charts"
"""The folder of the charts that a chart is made with."""
VALUES: Final = "values.yaml"
"""The chart's own file, whose values hold unless others are given."""
_SOURCE: Final = "# Source: "
PARTS: Final = ("templates", "crds")
"""Folders of a chart whose files helm makes objects of."""
SETTINGS: Final = ("values.schema.json", "requirements.yaml")
"""Further files that helm reads of a chart."""
_ACTION: Final = "{{"


@dataclass(frozen=True, slots=True)
class ChartRendering:
    """One way in which helm renders a chart."""

    name: str = VALUES
    """What findings call it."""
    values: tuple[str, ...] = ()
    """Whole paths of files, and JSON texts; the last one wins."""
    options: tuple[str, ...] = ()
    """Further options of helm: single values."""
    release: str = ""
    namespace: str = ""


def is_one(folder: Path) -> bool:
    """Whether the folder is a chart."""
    return (folder / NAME).is_file()


def is_template(file: Path) -> bool:
    """Whether something in it is for helm to fill in."""
    try:
        return _ACTION in file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def is_library(folder: Path) -> bool:
    """Whether it is only a part of other charts, which cannot be rendered by itself."""
    try:
        value = yaml.load((folder / NAME).read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return False
    return isinstance(value, dict) and value.get("type") == "library"


def read_chart(folder: Path, way: ChartRendering) -> tuple[Document, ...]:
    """The objects that the chart renders to in one way.

    Raises:
        NotAvailable: It cannot be rendered; a sentence.
        InvalidInput: What it renders to is not YAML.
    """
    text = _rendered(folder, way)
    found = placed_chart(folder, text, way.values)
    if not any(each.value.get("kind") == plain_secret.KIND for each in found):
        return found
    # What helm renders otherwise a second time, it has drawn at random.
    other_text = _rendered(folder, way)
    again = found if other_text == text else placed_chart(folder, other_text, way.values)
    if again is found or len(again) != len(found):
        return found
    return tuple(
        replace(one, drawn=plain_secret.different_values(one.value, other.value))
        for one, other in zip(found, again, strict=True)
    )


def _rendered(folder: Path, way: ChartRendering) -> str:
    helm = subprocess_tool.find_tool("helm")
    if helm is None:
        raise NotAvailable(
            "`helm` is needed to render it, and is not on PATH; install it, or pipe what it "
            f"renders: `helm template {folder} | trainer-infra check -`"
        )
    # Whole paths: helm looks for others in its repositories.
    real = os.path.realpath(folder)
    named = [way.release] if way.release else []
    there = ["--namespace", way.namespace] if way.namespace else []
    with tempfile.TemporaryDirectory(prefix="trainer-infra-") as scratch:
        values = [_file_of(each, Path(scratch, str(at))) for at, each in enumerate(way.values)]
        options = [each for file in values for each in ("--values", file)]
        given = ["--include-crds", *there, *options, *way.options]
        # A release may be called as an option is.
        command = [helm, "template", *given, "--", *named, real]
        try:
            return subprocess_tool.tool_output(command).decode("utf-8")
        except ToolFailure as error:
            words = subprocess_tool.whole_words(error.said).replace(real, str(folder))
            words = words.replace(f"{scratch}{os.sep}", "values ")
            words = _hidden_values(folder, way).text(words)
            with_them = f" with {way.name}" if way.values else ""
            raise NotAvailable(f"cannot be rendered{with_them}: {words}") from None


def _file_of(values: str, scratch: Path) -> str:
    """The file of values; of a text, one that is written."""
    if not values.startswith("{"):
        return values
    scratch.write_text(values, encoding="utf-8")
    return str(scratch)


def _hidden_values(folder: Path, way: ChartRendering) -> Redaction:
    """The values whose name says secret: a template may say them when it fails."""
    files = (str(folder / VALUES), *way.values)
    texts = [value for each in files for value in _values_in(each)]
    texts += (dict([each.removeprefix("--set=").partition("=")[::2]]) for each in way.options)
    found = {
        f"{index} {path_text(path)}": leaf
        for index, text in enumerate(texts)
        for path, leaf in json_leaves(text)
        if isinstance(leaf, str) and any(says_secret(str(key)) for key in path)
    }
    return Redaction.of(found)


def _values_in(values: str) -> Iterator[JSONObject]:
    if values.startswith("{"):
        yield json.loads(values)
    else:
        yield from (each.value for each in documents.yaml_of_file(values))


def placed_chart(folder: Path, text: str, values: Sequence[str] = ()) -> tuple[Document, ...]:
    """What was rendered, placed in the templates, and where these take a value as it is, in its file.

    Raises:
        InvalidInput: It is not YAML.
    """
    by_template: dict[str, list[JSONObject]] = {}
    faults: dict[int, tuple[FieldFinding, ...]] = {}
    for each in documents.read_documents(text, os.fspath(folder)):
        by_template.setdefault(_template(each), []).append(each.value)
        faults[id(each.value)] = tuple(each.findings())
    read = cache(documents.yaml_of_file)
    return tuple(
        replace(document, values=given, faults=faults.get(id(document.value), ()))
        for template, objects in by_template.items()
        for given in [tuple(_values(folder, template, values, read))]
        for document in _placed(objects, folder, template)
    )


def _values(
    folder: Path, template: str, values: Sequence[str], read: Callable[[str], tuple[Document, ...]]
) -> Iterator[Document]:
    """The files of a template's values, the strongest first, each where those of its chart begin."""
    files = [each for each in reversed(values) if not each.startswith("{")]
    shown = [_shown(each, folder) for each in files]
    texts = [text for file in (*shown, str(folder / VALUES)) for text in read(file)[:1]]
    name, below = _dependency(template)
    if not name:
        yield from texts
        return
    yield from (replace(text, start=(name,)) for text in texts)
    called = [name, *(str(value_at(each, ("name",))) for *_, each in _dependencies(folder, name))]
    inner = next((each for each in called if (folder / FOLDER / each).is_dir()), None)
    if inner:
        yield from _values(folder / FOLDER / inner, below, (), read)


def _shown(file: str, folder: Path) -> str:
    """A file as the user would name it, who names the chart's folder so."""
    return os.path.normpath(folder / os.path.relpath(file, os.path.realpath(folder)))


def _placed(objects: Sequence[JSONObject], folder: Path, template: str) -> Iterator[Document]:
    """The objects of one template; of several branches each place is in the one that says it."""
    file = template_file(folder, template)
    if file is None:
        yield from (dependency_document(each, folder, template) for each in objects)
        return
    texts = tuple(_written(os.fspath(file))) or ((),)
    ways = [source_of_built.placed_document(objects, each, os.fspath(file)) for each in texts]
    for first, *others in zip(*ways, strict=True):
        found = [each for each in (first, *others) if each.source]
        parts = tuple(Part(each.written, each) for each in found[1:])
        yield replace(found[0], parts=parts) if found else first


def _template(rendered: Document) -> str:
    """The template that an object is from, without the chart's name, which its folder need not have."""
    line, _ = rendered.place(())
    above: list[str] = []
    while line > 0 and rendered.lines[line - 1] != "---":
        above.append(rendered.lines[line - 1])
        line -= 1
    named = (each.removeprefix(_SOURCE) for each in reversed(above) if each.startswith(_SOURCE))
    return next(named, "").partition("/")[2]


def _written(file: str) -> Iterator[tuple[Document, ...]]:
    """The objects of a template, once for each branch of its conditions.

    Where it is not YAML even so, or has a field twice, only their kinds are known.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    lines = tuple(text.splitlines())
    for each in template_text.template_texts(text):
        whole = tuple(replace(one, lines=lines) for one in _skeleton(each, file))
        # Of what is not YAML even so the line of its kind is known at least, and shown alone.
        found = whole or _skeleton(template_text.heads(each), file)
        if found:
            yield found


def _skeleton(text: str, file: str) -> tuple[Document, ...]:
    try:
        found = documents.read_documents(text, file)
    except InvalidInput:
        return ()
    return () if any(one.source and one.source.findings for one in found) else found


def template_file(folder: Path, template: str) -> Path | None:
    """The file of a template, named without its chart; None where it is not in the chart's folder."""
    if template and (folder / template).is_file():
        return folder / template
    name, below = _dependency(template)
    for _, _, each in _dependencies(folder, name):
        own = folder / FOLDER / str(value_at(each, ("name",)))
        if own.is_dir():
            return template_file(own, below)
    return None


def dependency_document(value: JSONObject, folder: Path, template: str) -> Document:
    """An object, placed at the dependency of the chart that it comes through."""
    file = str(folder / NAME)
    name, _ = _dependency(template)
    for text, start, _ in _dependencies(folder, name):
        return Document(value, file, text.source, start, text.lines, is_editable=False)
    return Document(value, file, None, is_editable=False)


def _dependency(template: str) -> tuple[str, str]:
    """The dependency that a template comes through, and the template there; empty for none."""
    first, _, rest = template.partition("/")
    name, _, below = rest.partition("/")
    return (name, below) if first == FOLDER else ("", "")


def _dependencies(folder: Path, name: str) -> Iterator[tuple[Document, FieldPath, Any]]:
    """Those of a chart that have a name, as their own or as their alias, each with its place."""
    for text in documents.yaml_of_file(str(folder / NAME)) if name else ():
        for index, each in enumerate(items_at(text.value, "dependencies")):
            if name in {value_at(each, ("alias",)), value_at(each, ("name",))}:
                yield text, ("dependencies", index), each
