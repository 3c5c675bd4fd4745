"""Programs of others that know where objects come from: git, kustomize, kubectl, helm.

Called by `changed_files`, `kustomize` and `helm`; found on PATH, never through a shell.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

from trainer_infra.errors import NotAvailable

PATIENCE: Final = 300.0
"""Seconds that a program may take: some fetch what is on other machines."""

_LOGGED: Final = re.compile(r'^[EF]\d{4} .*?\] "command failed" err="(?P<said>.*)"$')
"""A line of kubectl's log, with the sentence in it."""
_SAYS: Final = ("error", "fatal")
"""How the line begins that says what is wrong; below it may stand what the program read."""
_LONGEST: Final = 4000
"""Characters of a sentence that are shown."""


def find_tool(*names: str) -> str | None:
    """The first of these programs that is on PATH."""
    return next(filter(None, map(shutil.which, names)), None)


def tool_output(command: Sequence[str], given: bytes = b"") -> bytes:
    """What a program prints.

    Args:
        command: the program and its arguments.
        given: what it reads from stdin.

    Raises:
        NotAvailable: It is not there, fails, or takes too long; the message is what it said.
    """
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, check=False, timeout=PATIENCE
        )
    except OSError as error:
        raise NotAvailable(f"`{command[0]}` cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"`{command[0]}` did not end within {PATIENCE:.0f} s") from None
    if done.returncode != 0:
        raise NotAvailable(last_words(done.stderr.decode("utf-8", "replace")))
    return done.stdout


def last_words(text: str) -> str:
    """The sentence of a program's complaint that says what is wrong."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    logged = filter(None, map(_LOGGED.match, lines))
    sentences = [each["said"] for each in logged]
    sentences += [each for each in lines if each.lower().startswith(_SAYS)]
    return (*sentences, *lines, "it failed and said nothing")[0][:_LONGEST]
