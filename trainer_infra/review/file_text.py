"""The bytes of a file -> its objects, and what else it is where it has none: data, text for a template, broken. Pure.

Reads what kubectl's decoder reads (apimachinery, `util/yaml`): documents apart, JSON documents one after another,
UTF-16 with its mark, a mark before a later document. What kubectl would refuse and does not seem to be an
object is data: repositories are full of JSON with comments, lists of JSON lines, and templates of other tools.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review import documents
from trainer_infra.review.documents import BOM, Document

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What kubectl takes for manifests in a folder."""
STDIN: Final = "stdin"
"""What reports call it."""
TEMPLATE: Final = "text for a template, and not YAML"
NOT_READ: Final = "not YAML, and names no kind of an object"
NO_TEXT: Final = "not UTF-8 text, and names no kind of an object"
TEXTS: Final = (
    *(".txt", ".tpl", ".tmpl", ".gotmpl", ".template"),
    *(".j2", ".jinja", ".jinja2", ".erb", ".mustache"),
    *(".jsonnet", ".libsonnet", ".cue", ".pkl", ".bak", ".orig", ".disabled"),
)
"""Of texts in which people keep objects that kubectl takes only by the file's name, or that another tool makes."""
NOT_NAMED: Final = "not named as a manifest is, but has an object in it, which was not judged"
INSIDE: Final = "not an object, but has one in it, which was not judged"
PARTLY: Final = "a document of it is text for a template, and not YAML"
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LATER_MARK: Final = re.compile(rf"^(---[^\n]*\n){BOM}", re.MULTILINE)
_WORDS: Final = re.compile(r"kind|apiVersion|\\[xuU\r\n]")
"""A text without these has no object; characters of a key may be written as escapes."""
_KEYS: Final = tuple(
    re.compile(rf"(?:^[^\w#\n]*|[{{,]\s*)([\"']?){key}\1[ \t]*:", re.MULTILINE)
    for key in ("kind", "apiVersion")
)
"""What begins a line that is no comment, or stands behind a brace or a comma."""
_MARKS: Final = ("{{", "{%", "${", "<%")
"""What templates of Jinja, envsubst, ERB and the like are told by."""
_NEAR: Final = 2
"""Lines above the place at which a parser gives up in which such a mark may be its reason."""


def is_manifest(file: str) -> bool:
    """Whether a file is named as manifests are; kubectl takes one in capitals where it is named by itself."""
    return file.lower().endswith(SUFFIXES)


def may_have_object(file: str) -> bool:
    """Whether a file that is not named as a manifest may have an object in it: `job.yaml.j2`, `job.txt`."""
    name = file.lower()
    return name.endswith(TEXTS) or any(f"{each}." in name for each in SUFFIXES)


@dataclass(frozen=True, slots=True)
class FileText:
    """What a text is."""

    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is broken and seems to be meant for kubectl."""
    why: str = ""
    """What of it is no object and not simply data."""


def is_wide(content: bytes) -> bool:
    """Whether it is UTF-16, which nothing of ours writes."""
    return content.startswith(_WIDE)


def decoded(content: bytes) -> str:
    """The text of a file's bytes, without the mark at its beginning.

    Raises:
        UnicodeDecodeError: It is not text.
    """
    encoding = "utf-16" if is_wide(content) else "utf-8"
    return content.decode(encoding).removeprefix(BOM)


def seems_object(content: str | bytes) -> bool:
    """Whether a text that cannot be read names both a kind and its version, as an object does."""
    text = content if isinstance(content, str) else content.decode("latin-1").replace("\0", "")
    # Most texts lack the words, and some are long.
    return "kind" in text and "apiVersion" in text and all(each.search(text) for each in _KEYS)


def file_text(text: str, file: str) -> FileText:
    """What a file's text is; of stdin, which is asked to be an object, all that is broken is a problem."""
    if file != STDIN and not _WORDS.search(text):
        return FileText()
    plain = _LATER_MARK.sub(r"\1", text) if BOM in text else text
    found = _plain_text(plain, file)
    # Columns behind such a mark are others than in the file.
    return found if plain == text else replace(found, documents=uneditable(found.documents))


def uneditable(found: Iterable[Document]) -> tuple[Document, ...]:
    """Documents whose file is not to be mended."""
    return tuple(replace(each, is_editable=False) for each in found)


def _plain_text(text: str, file: str) -> FileText:
    whole = _read(text, file)
    if not whole.problems and not whole.why:
        is_around = not whole.documents and file != STDIN and seems_object(text)
        return replace(whole, why=INSIDE) if is_around else whole
    parts = [
        _read(each, file)
        for one in yaml_source.documents_apart(text)
        for each in yaml_source.json_documents(one)
    ]
    found = tuple(each for part in parts for each in part.documents)
    broken = tuple(each for part in parts for each in part.problems)
    # A broken document among objects is meant to be one.
    if broken and (file == STDIN or found or seems_object(text) or not _is_syntax(broken[0])):
        return FileText(found, broken)
    why = next((each.why for each in parts if each.why), NOT_READ if broken else "")
    return FileText(found, (), PARTLY if found and why else why)


def _read(text: str, file: str) -> FileText:
    """One document, or all of them where nothing is wrong."""
    try:
        found = documents.read_documents(text, file)
    except InvalidInput as error:
        first = error.problems[0]
        if file != STDIN and _is_syntax(first) and _is_marked(text, first):
            return FileText(why=TEMPLATE)
        return FileText((), tuple(error.problems))
    if file != STDIN and _MARKS[0] in text and any(map(_has_object_as_key, found)):
        return FileText(why=TEMPLATE)
    return FileText(found)


def _has_object_as_key(document: Document) -> bool:
    """Whether it has `a: {{ b }}` in it, which YAML reads as an object in place of a key, and kubectl refuses."""
    found = document.source.findings if document.source else ()
    return any(each.path[-1:] == (yaml_source.NO_KEY,) for each in found)


def _is_syntax(problem: Problem) -> bool:
    return problem.what.startswith(yaml_source.NO_YAML)


def _is_marked(text: str, problem: Problem) -> bool:
    """Whether the mark of a template stands near the place where the parser gave up."""
    _, line, _ = problem.where.rsplit(":", 2)
    near = text.split("\n")[max(0, int(line) - 1 - _NEAR) : int(line)]
    return any(mark in each for each in near for mark in _MARKS)
