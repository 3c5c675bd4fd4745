"""Why a program ended, in its own words: the line of the log that names the exception. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from trainer_infra.runs.run import Failure

_LONGEST: Final = 300
"""Characters that are shown."""
_PREFIX: Final = re.compile(
    r"^(?:\[(?:rank|default)?\d+\][:,]?(?:<std(?:out|err)>:)?\s?|\(\w+ pid=\d+(?:, ip=[\d.]+)?\)\s)"
)
"""What torchrun, mpirun and Ray put before the lines of a process."""
_GROUP: Final = re.compile(r"^\s*(?:[+|]\s?[-+\d ]*)+(?=\S)|^\s+\|\s?")
"""What stands before the lines of an exception group."""
_FRAME: Final = re.compile(r'^\s*File ".*", line \d+')
_NAMED: Final = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z_]\w*(?:Error|Exception|Exit|Interrupt|Iteration|Timeout|Warning|Group)"
    r"(?:: .*)?$"
)
_EXCEPTION: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:: .*)?$")
"""The line behind the last frame of a traceback, whatever the class is called."""
_TELLING: Final = frozenset((1, 2))
"""Exit codes of programs that say why before they end: sys.exit(text), argparse."""


def last_words(failure: Failure | None) -> str:
    """The exception that ended a run, else what its program said last when it gave up; empty without.

    Args:
        failure: the pod that ended it, with its last lines.
    """
    lines = [_bare(each) for each in failure.last_lines] if failure else []
    said = [each for each in lines if each.strip()]
    if failure is None or not said:
        return ""
    found = _exception(said)
    if not found and failure.exit_code in _TELLING:
        found = said[-1]
    text = " ".join(found.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _bare(line: str) -> str:
    """A line without what launchers and exception groups put before it; its indentation stays."""
    line = _PREFIX.sub("", line)
    return _GROUP.sub("", line) if _GROUP.match(line) else line


def _exception(lines: Sequence[str]) -> str:
    """The line that names the last exception, of a traceback that may be cut at its beginning."""
    frames = [index for index, line in enumerate(lines) if _FRAME.match(line)]
    after = lines[frames[-1] + 1 :] if frames else ()
    # What is indented is source; a message of several lines goes on behind its first one.
    unindented = (line for line in after if not line.startswith((" ", "\t")))
    first = next(unindented, "")
    if _EXCEPTION.match(first):
        return first
    return next((line for line in reversed(lines) if _NAMED.match(line)), "")
