"""Programs of others that know where objects come from: git, kustomize, kubectl, helm."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from trainer_infra.errors import NotAvailable

PATIENCE: Final = 300.0
"""Seconds that a program may take: some fetch what is on other machines."""
_SAYS: Final = ("error", "fatal")
"""How the line begins that says what is wrong."""
_LONGEST: Final = 4000
"""Characters of what a program says that are shown."""
_LOGGED: Final = re.compile(
    r'^[EF]\d{4} .*?\] "command failed" err=(?:"(?P<text>.*)"|<\n(?P<lines>.*?)\n >)$',
    re.MULTILINE | re.DOTALL,
)
"""How kubectl logs its end: a text in quotes, or lines with an indent."""
_SILENT: Final = "it failed and said nothing"
_ASIDE: Final = ("#", "warning", "level=warn", "use --debug", "walk.go")
"""How lines begin that say nothing of what is wrong."""
_WARNED: Final = re.compile(r"\S+\.go:\d+: warning:", re.IGNORECASE)
"""How those of helm's libraries begin."""
_QUOTED: Final = {
    r"(cannot unmarshal !!\w+ )`[^`]*`": r"\1`…`",
    r"unknown anchor '[^']*'": "unknown anchor '…'",
    r"(at '[^']*': )'[^']*'": r"\1'…'",
}
"""What readers of YAML and judges of values repeat of files: a secret may stand there."""


class ToolFailure(NotAvailable):
    """A program failed; the message is the sentence that says why."""

    def __init__(self, said: str) -> None:
        super().__init__(last_words(said))
        self.said = said
        """All that it said."""


def find_tool(*names: str) -> str | None:
    """The first of these programs that is on PATH."""
    return next(filter(None, map(shutil.which, names)), None)


def tool_output(
    command: Sequence[str], given: bytes = b"", variables: Mapping[str, str] | None = None
) -> bytes:
    """What a program prints that reads `given` from stdin; `variables` hold where the user has not set them.

    Raises:
        ToolFailure: It fails.
        NotAvailable: It is not there, or takes too long.
    """
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            env={**(variables or {}), **os.environ},
        )
    except OSError as error:
        raise NotAvailable(f"`{command[0]}` cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"`{command[0]}` did not end within {PATIENCE:.0f} s") from None
    if done.returncode != 0:
        raise ToolFailure(done.stderr.decode("utf-8", "replace"))
    return done.stdout


def last_words(text: str) -> str:
    """The sentence of a program's complaint that says what is wrong."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    sentences = [each for each in lines if each.lower().startswith(_SAYS)]
    return (*sentences, *lines, _SILENT)[0][:_LONGEST]


def whole_words(text: str) -> str:
    """All of a program's complaint on one line, without warnings and hints."""
    logged = _LOGGED.search(text)
    if logged:
        text = logged["lines"] or _unquoted(logged["text"] or "")
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    told = [each for each in lines if not _is_aside(each)] or lines
    told = [without_quotes(each, _QUOTED) for each in told]
    joined = "".join(f"{each}{' ' if each.endswith((':', ',')) else '; '}" for each in told)
    return joined.removesuffix("; ").strip()[:_LONGEST] or _SILENT


def without_quotes(text: str, quoted: Mapping[str, str]) -> str:
    """The text with something else in place of what it repeats, by the pattern of that."""
    for pattern, instead in quoted.items():
        text = re.sub(pattern, instead, text)
    return text


def _is_aside(line: str) -> bool:
    return line.lower().startswith(_ASIDE) or _WARNED.match(line) is not None


def _unquoted(text: str) -> str:
    """A text without the escapes of Go, which but for a few are those of JSON."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace('\\"', '"')
