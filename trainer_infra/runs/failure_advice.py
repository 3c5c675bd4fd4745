"""What to do about a failure that its own words tell: a missing module, program or file.

Pure.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

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
    """What to do, a clause without a full stop; empty where the failure does not tell.

    Args:
        message: why the run failed.
        last_lines: the last lines of the pod that ended it.
    """
    lines = [line.strip() for line in last_lines if line.strip()]
    # What started the training may say more after its traceback, as torchrun does.
    modules = (_MODULE.search(line) for line in reversed(lines))
    if found := next(filter(None, modules), None):
        name = found[1]
        top = name.partition(".")[0]
        return f"the Python of the job has no module {top!r}: {_add(_DISTRIBUTIONS.get(top, top))}"
    if lines and (found := _FILE.search(lines[-1])):
        return _file(found[1])
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


def _file(path: str) -> str:
    return (
        f"{path!r} is a relative path, and a run has a working directory of its own: give an "
        "absolute path; a file of the folder that train= names lies beside the code, and is found "
        "from __file__"
    )
