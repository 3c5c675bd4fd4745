"""What Python code starts, by whatever names it imports, and that no text makes the reader fail."""

import pytest

from trainer_infra.render.command_lines import program
from trainer_infra.render.command_lines.python_code import read_python


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("import os; os.system('a b')", [("sh", "-c", "a b")]),
        ("from os import system as s; s('a')", [("sh", "-c", "a")]),
        ("import subprocess as sp; sp.run(['a', x])", [("a", "\0")]),
        (
            "def f():\n    from subprocess import check_call\n    check_call('a')",
            [("sh", "-c", "a")],
        ),
        ("__import__('os').popen('a')", [("sh", "-c", "a")]),
        ("subprocess.run(['sh', '-c'])", [("sh", "-c")]),
        ("system('a'); run(['a']); os.system(a)", []),
        ("import os; os.system('a", []),
    ],
)
def test_what_code_starts(text: str, commands: list[tuple[str, ...]]) -> None:
    assert list(read_python(text).commands) == commands


@pytest.mark.parametrize(
    "text",
    [
        "os.system" + "()" * 3000,
        "os.system(" * 150 + ")" * 150,
        "os.system('a')" + ".b" * 3000,
        "x = " + "-" * 3000 + "os.system",
        "os.system('\0')",
        "subprocess.run(['sh', '-c'])",
        "while 1: os.system()",
    ],
    ids=lambda text: text[:20],
)
def test_any_code_is_read(text: str) -> None:
    for words in read_python(text).commands:
        program.read_command_line(words)
