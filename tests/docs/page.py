"""The code blocks of our pages: which there are, and which file each is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from typing_extensions import override

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM = "__main__.py"
SHELL = ("", "bash", "sh", "shell", "console")
"""Languages of blocks with commands; most of those without one are such."""

_FILE = re.compile(r"`([\w./-]+\.(?:py|yaml|txt|jsonl))`")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    section: str
    """The heading that it stands under."""
    line: int
    """Of the page, from 1."""
    language: str
    text: str
    file: str
    """What it is called: the last file in a paragraph before it that ends with a colon.

    Python that is not called anything is a Pulumi program.
    """

    @override
    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def is_program(self) -> bool:
        return self.language == "python" and self.file == PROGRAM and not self.is_platform

    @property
    def is_platform(self) -> bool:
        """Whether it is a program that installs what a cluster needs."""
        return "from trainer_infra import platform" in self.text


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    section, before, last = "", "", ""
    for token in MarkdownIt().parse(page.read_text()):
        if token.type == "inline":
            last = before = token.content
        elif token.type == "heading_close":
            section, before = last, ""
        elif token.type in ("fence", "code_block"):
            language = token.info.strip()
            named = _FILE.findall(before) if before.endswith(":") else []
            default = PROGRAM if language == "python" else ""
            line = (token.map or [0])[0] + 1
            file = named[-1] if named else default
            yield Block(page, section, line, language, token.content, file)
            before = ""


def spans(page: Path) -> Iterator[str]:
    """Code inside the sentences and tables of a page."""
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        for each in token.children or ():
            if each.type == "code_inline":
                yield each.content


def tables(page: Path) -> Iterator[list[list[str]]]:
    """The tables of a page: of each its rows, the heading first; a row's cells are Markdown."""
    rows: list[list[str]] = []
    in_cell = False
    for token in MarkdownIt().enable("table").parse(page.read_text()):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("td_open", "th_open", "td_close", "th_close"):
            in_cell = token.nesting == 1
        elif token.type == "inline" and in_cell:
            rows[-1].append(token.content.replace("\\|", "|"))
        elif token.type == "table_close":
            yield rows
            rows = []


def table(page: Path, *heading: str) -> list[list[str]]:
    """The rows of all tables of a page with this heading."""
    return [row for head, *rows in tables(page) if head == list(heading) for row in rows]


def codes(cell: str) -> list[str]:
    """The code in a cell or a paragraph."""
    return re.findall(r"`([^`]+)`", cell)


ALL = [block for page in PAGES for block in blocks(page)]


def of_language(*languages: str) -> list[Block]:
    """The blocks of all pages in any of these languages."""
    return [block for block in ALL if block.language in languages]


def before(block: Block) -> list[Block]:
    """What a reader of the page met before it."""
    return [each for each in ALL if each.page == block.page and each.line < block.line]
