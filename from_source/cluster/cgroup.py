"""The control group that holds every process of the cluster, and those of its pods.

What the kernel lists there is the cluster's, however it was started and whatever its parent is.
"""

import contextlib
import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from from_source.cluster import live
from from_source.cluster.waiting import wait_until

_MOUNT: Final = Path("/sys/fs/cgroup")


def name() -> str:
    """Path of the group below each hierarchy; other clusters of this machine have others."""
    digest = hashlib.sha256(str(live.folder()).encode()).hexdigest()
    return f"/trainer-infra-{digest[:8]}"


def make() -> Path:
    """Make the group; the file that a component's process id is written to."""
    if _is_version_2():
        _hand_down()
    for each in _hierarchies():
        (each / name()[1:]).mkdir(exist_ok=True)
    daemons = _counting() / name()[1:] / "daemons"
    daemons.mkdir(exist_ok=True)
    return daemons / "cgroup.procs"


def kill(within: float) -> set[int]:
    """End every process in the group at once; those that still live after so many seconds."""

    def none_is_left() -> bool:
        for pid in members():
            _kill_member(pid)
        return not members()

    wait_until(none_is_left, within)
    return members()


def members() -> set[int]:
    """The processes in the group now."""
    found: set[int] = set()
    for folder in _groups():
        with contextlib.suppress(OSError):
            found.update(int(line) for line in (folder / "cgroup.procs").read_text().split())
    return found - {0}


def removed() -> bool:
    """Remove the group, in which nothing may be; whether it is gone."""
    for folder in _groups():
        with contextlib.suppress(OSError):
            folder.rmdir()
    return not any(True for _ in _groups())


def _hand_down() -> None:
    """Let groups below the first have every controller, without which a kubelet refuses its root."""
    for controller in (_MOUNT / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):
            (_MOUNT / "cgroup.subtree_control").write_text(f"+{controller}")


def _kill_member(pid: int) -> None:
    """End a process; the descriptor keeps the signal from a later process with the same id."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if pid in members():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
    finally:
        os.close(process)


def _groups() -> Iterator[Path]:
    """The group and those below it in each hierarchy, the deepest first."""
    for hierarchy in _hierarchies():
        for folder, _, _ in os.walk(hierarchy / name()[1:], topdown=False):
            yield Path(folder)


def _hierarchies() -> list[Path]:
    """Version 2 has one; version 1 has one for each controller."""
    if _is_version_2():
        return [_MOUNT]
    return [each for each in sorted(_MOUNT.iterdir()) if (each / "cgroup.procs").exists()]


def _counting() -> Path:
    """The hierarchy in which the components stand; moving there changes no limit of theirs."""
    return _MOUNT if _is_version_2() else _MOUNT / "pids"


def _is_version_2() -> bool:
    return (_MOUNT / "cgroup.controllers").exists()
