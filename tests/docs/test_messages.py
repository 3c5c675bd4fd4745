"""What users read is plain English: CONTRIBUTING.md, "How messages are written"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs import prose

ACCENTS: Final = re.compile(
    r"(?<!there )(?<!There )\bis no (?!longer\b)"
    r"|(?<!there )\bis none\b"
    r"|\b(?:is|are) told\b"
    r"|\bis nothing that\b"
    r"|\bis there twice\b"
    r"|\bthings? that there (?:is|are)\b"
    r"|\bshall\b"
    r"|\bfor ever\b"
)
"""Phrases of a careful foreigner, who would say `is not a`, `does not exist`, `is a duplicate`, `must`, `forever`."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a file that is no docstring."""
    tree = prose.parsed(path)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def test_messages_have_no_phrase_of_a_careful_foreigner() -> None:
    package = [each for each in prose.PYTHON if each.is_relative_to(prose.ROOT / "trainer_infra")]
    every = [(str(path), line, text) for path in package for line, text in texts(path)]
    assert [each for each in every if ACCENTS.search(each[2])] == []
    assert len(every) > 10_000


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("is no name of a port", False),
        ("precision: is none of those", False),
        ("waits for ever", False),
        ("is not a port name", True),
        ("there is no run x", True),
        ("is no longer served", True),
        ("where there is none", True),
    ],
)
def test_a_phrase_is_found_where_it_stands(text: str, is_plain: bool) -> None:
    assert (ACCENTS.search(text) is None) is is_plain
