"""Why a program ended, in its own words, and what to do about it: a missing module, program or file. Pure."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
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
_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_FILE: Final = re.compile(r"FileNotFoundError: .*: '([^/'][^']*)'$")
_PROGRAM: Final = re.compile(
    r"cannot start(?: with exit code \d+)?: .*No such file or directory: '([^']+)'"
    r'|exec: "([^"]+)": (?:executable file not found|stat \S+: no such file)'
)
_DISTRIBUTIONS: Final[Mapping[str, str]] = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Modules that are commonly trained with, and are installed under another name."""
_BROUGHT_BY: Final[Mapping[str, str]] = {
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "torchrun": "torch",
    "tune": "torchtune",
}
"""Programs that a package brings."""


def advice(message: str, last_lines: Sequence[str]) -> str:
    """What to do about a run's failure, by its message and the last lines of the pod that ended it.

    A clause without a full stop; empty where the failure does not tell.
    """
    lines = [line.strip() for line in last_lines if line.strip()]
    # What started the training may say more after its traceback, as torchrun does.
    modules = (_MODULE.search(line) for line in reversed(lines))
    if found := next(filter(None, modules), None):
        name = found[1]
        top = name.partition(".")[0]
        return f"the Python of the job has no module {top!r}: {_add(_DISTRIBUTIONS.get(top, top))}"
    if lines and (found := _FILE.search(lines[-1])):
        return (
            f"{found[1]!r} is a relative path, and a run has a working directory of its own: give an "
            "absolute path; a file of the folder that train= names lies beside the code, and is found "
            "from __file__"
        )
    found = _PROGRAM.search(message)
    return _program(found[1] or found[2]) if found else ""


def _program(path: str) -> str:
    name = PurePosixPath(path).name
    if name in _BROUGHT_BY:
        package = _BROUGHT_BY[name]
        return f"{name} comes with {package}: {_add(package)}"
    return (
        f"there is no program {name!r} where the job runs: correct the command, or install it there"
    )


def _add(package: str) -> str:
    return (
        "add it with its version to packages= of the trainer (--package of `trainer-infra run`), as in "
        f'"{package}==<version>", or train on an image that has it'
    )


def last_words(failure: Failure | None) -> str:
    """The exception that ended a run, else what its program said last when it gave up; empty without."""
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
