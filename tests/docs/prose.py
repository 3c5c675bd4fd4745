"""What a file says to its reader: docstrings and comments of Python, sentences of Markdown."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sorted(
    path
    for room in ("trainer_infra", "tests", "tools", "from_source")
    for path in (ROOT / room).rglob("*.py")
)
MARKDOWN = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.DOTALL | re.MULTILINE)

_TOKEN = re.compile(
    r"(?P<comment>\#[^\n]*)|(?P<bracket>[][(){}])|[rRbBuUfF]*(?:"
    r'"{3}(?:\\.|[^\\])*?"{3}|'
    r"'{3}(?:\\.|[^\\])*?'{3}|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])*')",
    re.DOTALL,
)
"""A comment, a bracket outside of strings, or a string."""


@dataclass(frozen=True)
class Prose:
    """A docstring, a block of comments, or a page."""

    line: int
    """Of the file, from 1."""
    text: str
    """With the file's own line breaks."""

    def matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Each match with its line in the file; a blank of the pattern also stands for a line break."""
        for found in re.compile(pattern.pattern.replace(" ", r"\s+"), pattern.flags).finditer(
            self.text
        ):
            yield self.line + self.text.count("\n", 0, found.start()), found


@dataclass(frozen=True)
class Written:
    """What stands in Python beside its code."""

    line: int
    """Of the file, from 1."""
    text: str
    """As it is written, its marks too."""
    is_docstring: bool
    """A statement of its own; else a comment."""


@cache
def of_file(path: Path) -> tuple[Prose, ...]:
    """What the file says, in no particular order."""
    text = path.read_text()
    return tuple(of_python(text) if path.suffix == ".py" else of_markdown(text))


@cache
def parsed(path: Path) -> ast.Module:
    """The file of Python."""
    return ast.parse(path.read_text())


def of_python(source: str) -> Iterator[Prose]:
    """Docstrings, those of attributes too, and blocks of comments."""
    lines: dict[int, str] = {}
    for each in _written(source):
        if each.is_docstring:
            yield Prose(each.line, str(ast.literal_eval(each.text)))
        else:
            lines[each.line] = each.text.lstrip("#").strip()
    for first in sorted(lines.keys() - {line + 1 for line in lines}):
        last = next(line for line in range(first, first + len(lines) + 1) if line + 1 not in lines)
        yield Prose(first, "\n".join(lines[line] for line in range(first, last + 1)))


def _written(source: str) -> Iterator[Written]:
    """Docstrings and comments of a file, in order: to parse all files takes ten times as long."""
    depth, line, seen = 0, 1, 0
    for found in _TOKEN.finditer(source):
        line, seen = line + source.count("\n", seen, found.start()), found.start()
        if found["bracket"]:
            depth += 1 if found["bracket"] in "([{" else -1
        elif found["comment"]:
            yield Written(line, found["comment"], is_docstring=False)
        elif not depth and _is_statement(source, found):
            yield Written(line, found[0], is_docstring=True)


def _is_statement(source: str, found: re.Match[str]) -> bool:
    """Whether it stands alone on its lines."""
    if source[source.rfind("\n", 0, found.start()) + 1 : found.start()].strip():
        return False
    after = source[found.end() : source.find("\n", found.end())]
    return not after.partition("#")[0].strip()


def code(source: str) -> str:
    """Python without its comments, and with nothing in its strings."""
    return _TOKEN.sub(lambda found: found["bracket"] or ("" if found["comment"] else "''"), source)


def of_markdown(page: str) -> Iterator[Prose]:
    """The page without its code blocks."""
    yield Prose(1, _FENCE.sub(lambda block: "\n" * block[0].count("\n"), page))


def words(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())
