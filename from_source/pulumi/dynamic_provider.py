"""Serve Pulumi's dynamic providers, and end with the engine that asked for them.

The engine starts this as `pulumi-resource-pulumi-python` where tools/setup.py has built the CLI. It
does what Pulumi's own shim does (choose the interpreter, run `pulumi.dynamic`), and one thing more:
when the CLI was killed, it lets an operation that is under way finish and then ends, where the
shim's process would stay for ever.
"""

import os
import runpy
import shutil
import signal
import stat
import sys
import threading
import time
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Any

GRACE = 10.0
"""Seconds that operations under way have when the engine is gone."""


def interpreter() -> str:
    """The Python to serve with: the program's `virtualenv`, else PULUMI_PYTHON_CMD, else ours."""
    virtualenv = os.environ.pop("PULUMI_RUNTIME_VIRTUALENV", None)
    command = os.environ.pop("PULUMI_PYTHON_CMD", None)
    if not virtualenv:
        return shutil.which(command) or command if command else sys.executable
    python = Path.cwd() / virtualenv / "bin" / "python"
    if not python.is_file():
        sys.exit(
            f"Pulumi.yaml: runtime.options.virtualenv: no virtual environment there, got"
            f" {virtualenv!r} ({python.parent.parent}); run `make setup`"
        )
    return os.path.normpath(python)


def watch_engine() -> None:
    """End this process when the engine, which holds the other end of standard input, is gone."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(GRACE)
    os._exit(1)


TRACEBACK = traceback.format_exc


def said(*options: Any) -> str:
    """A traceback, but one sentence where a resource of ours is to be imported.

    The engine then sends nothing that would name its provider, so the provider cannot say it.
    """
    error = sys.exc_info()[1]
    if isinstance(error, KeyError) and error.args == ("__provider",) and find_spec("trainer_infra"):
        from trainer_infra import names  # noqa: PLC0415  it may be a program without it

        return names.NOT_IMPORTED
    return TRACEBACK(*options)


def main() -> None:
    """Serve in the right interpreter, with the program's folder importable as it is for `-m`."""
    python = interpreter()
    if python != sys.executable:
        os.execv(python, [python, "-u", __file__, *sys.argv[1:]])  # noqa: S606  no shell wanted
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        threading.Thread(target=watch_engine, daemon=True).start()
    sys.path[0] = str(Path.cwd())
    traceback.format_exc = said  # type: ignore[assignment]  # with any of its options
    runpy.run_module("pulumi.dynamic", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
