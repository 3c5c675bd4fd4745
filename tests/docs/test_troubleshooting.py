"""docs/troubleshooting.md quotes messages as they are printed: a reworded one is found here."""

import ast
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs import page

FILE = page.ROOT / "docs" / "troubleshooting.md"
VARIES = "\0"
"""Stands for what differs, in a text of ours and in one of the page."""
OURS = page.table(FILE, "message", "what it means", "what to do")
PULUMI = page.table(FILE, "message of Pulumi", "what it means", "what to do")


def message(row: list[str]) -> str:
    return page.codes(row[0])[0]


@cache
def texts() -> str:
    """Every text in our source, one a line."""
    return "\n".join(
        text.replace("\n", " ")
        for file in sorted((page.ROOT / "trainer_infra").rglob("*.py"))
        for text in _of(ast.parse(file.read_text()))
    )


def _of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else VARIES
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{\w+\}", VARIES, node.value)


def is_ours(quoted: str) -> bool:
    """Whether a message is a text of ours, or a part of one."""
    return re.sub(r"<[^>]+>", VARIES, quoted) in texts()


@pytest.mark.parametrize("row", OURS, ids=message)
def test_a_message_is_printed_in_these_words(row: list[str]) -> None:
    fixed = re.sub(r"<[^>]+>", " ", message(row)).split()
    assert len(fixed) >= 2
    assert is_ours(message(row)), "our source has no such text: the page quotes the old words"


@pytest.mark.parametrize("row", PULUMI, ids=message)
def test_a_message_of_pulumi_is_one_of_its_command(row: list[str]) -> None:
    command = shutil.which("pulumi", path=page.ROOT / ".venv" / "bin") or shutil.which("pulumi")
    assert command
    assert message(row).encode() in Path(command).read_bytes()


def test_every_message_is_quoted_once() -> None:
    quoted = [message(row) for row in (*OURS, *PULUMI)]
    assert sorted(set(quoted)) == sorted(quoted)
    assert len(quoted) > 50


def test_reworded_messages_are_found() -> None:
    assert is_ours("TrainJob <name> is stuck: <cause>")
    assert not is_ours("TrainJob <name> is jammed: <cause>")
    assert not is_ours("TrainJob lr-1 is stuck: <cause>")
