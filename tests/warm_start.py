"""A program in a new process that starts warm: forked from one that has imported its modules.

Most of a command's time in the tests is the start of a Python and its imports. `run` gives a program
what `subprocess.run` would give it: arguments, folder, environment, standard files, an exit code, and
a process that no other test has been in. What users type is started for real once for each command,
and wherever signals, terminals or what is imported matter.
"""

import atexit
import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pytest", "tests.warm_modules"])
_OF_PYTEST: Final = {"", str(Path(__file__).parent.parent)}
"""What pytest adds to where modules are found; a program that is installed finds none of ours there."""


@dataclass(frozen=True)
class Done:
    """What a program left."""

    code: int
    out: str
    err: str


def run(
    program: Callable[[], int | None],
    *arguments: str,
    folder: Path,
    env: Mapping[str, str],
    stdin: str | None = None,
    timeout: float = 600,
) -> Done:
    """Run a function of a module as the program that was given these arguments, to its end.

    Raises:
        TimeoutError: it did not end within so many seconds, and was killed.
    """
    with tempfile.TemporaryDirectory() as kept:
        files = [Path(kept, name) for name in ("in", "out", "err")]
        files[0].write_text(stdin or "")
        given = (program, arguments, str(folder), dict(env), list(map(str, files)))
        process = _CONTEXT.Process(target=_become, args=given)
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{' '.join(arguments)} did not end within {timeout} s")
        return Done(process.exitcode, files[1].read_text(), files[2].read_text())


def _become(
    program: Callable[[], int | None],
    arguments: tuple[str, ...],
    folder: str,
    env: dict[str, str],
    files: list[str],
) -> None:
    """Make this process, which has just been forked, the program."""
    for number, file in enumerate(files):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, "w" if number else "r", closefd=False)  # noqa: SIM115  of this process
        for number in range(3)
    )
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.path[:] = [each for each in sys.path if each not in _OF_PYTEST]
    sys.argv = [program.__module__, *arguments]
    try:
        sys.exit(program())
    finally:
        # A child of multiprocessing ends without what Python does at its end.
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  has no public name
        atexit._run_exitfuncs()  # noqa: SLF001  has no public name
