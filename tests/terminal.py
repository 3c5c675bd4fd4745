"""A command in a terminal of its own, as a person sees it."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROWS = 40


def drawn(
    command: Sequence[str], folder: Path, env: Mapping[str, str], columns: int = 80
) -> tuple[int, str]:
    """Exit code of a command, and everything that it drew in a terminal so wide.

    The terminal is an xterm where the variables do not say otherwise.
    """
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={"TERM": "xterm", **env},
        stdin=inside,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    parts = []
    with suppress(OSError):  # the other side is closed
        while part := os.read(terminal, 65536):
            parts.append(part)
    os.close(terminal)
    return process.wait(timeout=600), b"".join(parts).decode()
