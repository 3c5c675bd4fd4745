"""A process that has been forked from one that had imported everything becomes a program."""

import atexit
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

CONTEXT: Final = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", "tests.warm_modules"])
_OF_PYTEST: Final = {"", str(Path(__file__).parent.parent)}
"""What pytest adds to where modules are found; a program that is installed finds none of ours there."""


def become(
    program: Callable[[], int | None],
    arguments: Sequence[str],
    folder: str,
    env: Mapping[str, str],
    files: Sequence[str],
) -> NoReturn:
    """Make this process the program: its arguments, folder, environment and standard files.

    Raises:
        SystemExit: The program has ended.
    """
    for number, file in enumerate(files):
        how = os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY
        opened = os.open(file, how, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, "w" if number else "r", closefd=False)  # noqa: SIM115  of this process
        for number in range(3)
    )
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    listed = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [*listed, *(each for each in sys.path if each not in _OF_PYTEST)]
    sys.argv = [program.__module__, *arguments]
    try:
        sys.exit(program())
    finally:
        # A child of multiprocessing ends without what Python does at its end.
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  has no public name
        atexit._run_exitfuncs()  # noqa: SLF001  has no public name
