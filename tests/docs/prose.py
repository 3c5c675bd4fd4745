"""What a file says to its reader: docstrings and comments of Python, sentences of Markdown."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sorted(
    path for room in ("trainer_infra", "tests", "tools") for path in (ROOT / room).rglob("*.py")
)
MARKDOWN = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.DOTALL | re.MULTILINE)


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


@cache
def of_file(path: Path) -> tuple[Prose, ...]:
    """What the file says, in no particular order."""
    text = path.read_text()
    return tuple(of_python(text, parsed(path)) if path.suffix == ".py" else of_markdown(text))


@cache
def parsed(path: Path) -> ast.Module:
    """The file of Python."""
    return ast.parse(path.read_text())


def of_python(source: str, tree: ast.Module) -> Iterator[Prose]:
    """Docstrings, those of attributes too, and blocks of comments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield Prose(node.lineno, str(node.value.value))
    lines: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0]] = token.string.lstrip("#").strip()
    for first in sorted(lines.keys() - {line + 1 for line in lines}):
        last = next(line for line in range(first, first + len(lines) + 1) if line + 1 not in lines)
        yield Prose(first, "\n".join(lines[line] for line in range(first, last + 1)))


def of_markdown(page: str) -> Iterator[Prose]:
    """The page without its code blocks."""
    yield Prose(1, _FENCE.sub(lambda block: "\n" * block[0].count("\n"), page))


def words(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())
