"""Supervisors of local runs that start warm, in place of a Python that is started for each run.

Half a second of the processor goes into the imports of a supervisor, and the tests submit hundreds of
runs. `Launcher` stands for `subprocess` in `local.supervision`: what it is asked to start is forked
from a process that has imported it, and has the arguments, environment, session and files that were
asked for, in `/proc` too, where the package looks for the processes of a run. Runs that a real
`trainer-infra` or the Pulumi CLI submits have a supervisor that was started for real.
"""

import ctypes
import os
import signal
import subprocess
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import IO, Final

import pytest

from tests.warm_process import CONTEXT, become
from trainer_infra.local import supervision, supervisor

_WORDS_BEFORE: Final = ["-P", "-m", "trainer_infra.local.supervisor"]


class Launcher:
    """Starts supervisors as `subprocess` would."""

    DEVNULL: Final = subprocess.DEVNULL
    TimeoutExpired: Final = subprocess.TimeoutExpired

    def __init__(self, address: str) -> None:
        self.address = address

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: int,
        stdout: IO[bytes],
        stderr: IO[bytes],
        cwd: Path,
        env: Mapping[str, str],
        start_new_session: bool,
        timeout: float,
        check: bool,
    ) -> None:
        """Start a supervisor, and wait until it has detached.

        Raises:
            TimeoutExpired: It did not within so many seconds.
        """
        asked = (stdin, stderr, start_new_session, check, arguments[1:-1])
        assert asked == (self.DEVNULL, stdout, True, False, _WORDS_BEFORE)
        with connection.Client(self.address) as server:
            server.send((list(arguments), str(cwd), dict(env), stdout.name))
            if not server.poll(timeout):
                raise self.TimeoutExpired(arguments, timeout)
            server.recv()


@cache
def launcher() -> Launcher:
    """The launcher of this process, whose server ends with it."""
    address = f"\0warm-supervisors-{os.getpid()}"
    ready, waits = CONTEXT.Pipe(duplex=False)
    with ready, waits:
        CONTEXT.Process(target=_serve, args=(address, waits), daemon=True).start()
        ready.recv()
    return Launcher(address)


@pytest.fixture(autouse=True, scope="package")
def supervisors() -> Iterator[None]:
    """Supervisors of the runs that the tests of a room submit start warm, where this is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervision, "subprocess", launcher())
        yield


def _serve(address: str, waits: connection.Connection) -> None:
    """Fork a supervisor for each that asks, until the process that started this one ends."""
    parent = parent_process()
    assert parent is not None
    with connection.Listener(address) as listener:
        waits.send(True)
        waits.close()
        accepting = listener._listener._socket  # type: ignore[attr-defined]  # noqa: SLF001  to wait for it
        while parent.sentinel not in connection.wait([accepting, parent.sentinel]):
            # Who asks may be killed at any moment, before it has said what for.
            with listener.accept() as asking, suppress(OSError, EOFError):
                asked = asking.recv()
                pid = os.fork()
                if pid == 0:
                    _supervise(*asked)
                asking.send(os.waitpid(pid, 0))


def _supervise(arguments: list[str], folder: str, env: dict[str, str], output: str) -> None:
    """Make this process, which has just been forked, the supervisor that was asked for."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.closerange(3, max(int(each.name) for each in Path("/proc/self/fd").iterdir()) + 1)
        _show(arguments, env)
        become(supervisor.main, arguments[-1:], folder, env, (os.devnull, output, output))
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001  whatever it is, the run's output has it
        traceback.print_exc()
    finally:
        os._exit(code)


def _show(arguments: list[str], env: dict[str, str]) -> None:
    """Have `/proc` show these arguments and this environment as those of this process."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    arguments_begin, arguments_end, environment_begin, environment_end = map(int, fields[45:49])
    _overwrite(arguments_begin, arguments_end, arguments)
    # The mark is last, and what does not fit is left out.
    variables = [f"{name}={value}" for name, value in reversed(env.items())]
    _overwrite(environment_begin, environment_end, variables)


def _overwrite(begin: int, end: int, words: list[str]) -> None:
    """Fill this memory, which ends with a zero, with as many words as it takes."""
    text = "\0".join(words).encode()[: end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)
