"""A program in a new process that starts warm: forked from one that has imported its modules.

Most of a command's time in the tests is the start of a Python and its imports. `run` gives a program
what `subprocess.run` would give it: arguments, folder, environment, standard files, an exit code, and
a process that no other test has been in. What users type is started for real once for each command,
and wherever signals, terminals or what is imported matter.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import warm_supervisors
from tests.warm_process import CONTEXT, become
from tests.warm_supervisors import Launcher
from trainer_infra.local import supervision


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
    timeout: float = 1100,
) -> Done:
    """Run a function of a module as the program that was given these arguments, to its end.

    Raises:
        TimeoutError: it did not end within so many seconds, and was killed.
    """
    with tempfile.TemporaryDirectory() as kept:
        files = [Path(kept, name) for name in ("in", "out", "err")]
        files[0].write_text(stdin or "")
        paths = list(map(str, files))
        given = (warm_supervisors.launcher(), program, arguments, str(folder), dict(env), paths)
        process = CONTEXT.Process(target=_start, args=given)
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{' '.join(arguments)} did not end within {timeout} s")
        return Done(process.exitcode, files[1].read_text(), files[2].read_text())


def _start(
    launcher: Launcher,
    program: Callable[[], int | None],
    arguments: tuple[str, ...],
    folder: str,
    env: dict[str, str],
    files: list[str],
) -> None:
    """Make this process, which has just been forked, the program; supervisors of its runs start warm."""
    setattr(supervision, "subprocess", launcher)  # noqa: B010  it stands for a module
    become(program, arguments, folder, env, files)
