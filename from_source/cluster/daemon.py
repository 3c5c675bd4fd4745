"""One component of the cluster, running on its own: it outlives the command that started it.

Before its program starts, the process joins the cluster's control group and writes down who it is:
the boot, its id and its start time. Nothing else is ever signalled by its id.
"""

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from from_source.cluster import cgroup, live
from from_source.cluster.waiting import wait_until
from trainer_infra.errors import NotAvailable

READY_WITHIN: Final = 600.0
"""Seconds that a component may take to answer; a loaded machine is no failure."""

_STOPS_WITHIN: Final = 15.0
"""Seconds between SIGTERM and SIGKILL."""

HOLDER: Final = "namespaces"
"""The component whose namespaces the others run in."""

_OURS: Final = ("PATH", "HOME")
_COLLECTING: Final = {"GOGC": "200"}

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")

_SCRIPT: Final = f"""
echo $$ > "$1" && read -r stat < /proc/$$/stat && read -r boot < {_BOOT} &&
echo "$boot $stat" > "$2.new" && mv "$2.new" "$2" && shift 2 && exec "$@"
"""
"""Joins the group ($1), writes the record ($2), becomes the program; `exec` keeps the identity."""


@dataclass(frozen=True, slots=True)
class Component:
    """A program of the cluster."""

    name: str
    """Its name here."""
    command: tuple[str, ...]
    """The program and its arguments."""
    ready: Callable[[], bool] = lambda: True
    """Whether it answers, where that can be asked from outside."""
    inside: bool = True
    """Whether it runs in the cluster's namespaces."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot."""

    boot: str
    """Random name that the kernel gives a boot."""
    pid: int
    """Process id."""
    start: int
    """When it began, in clock ticks after the boot."""


def parsed(record: str) -> Identity:
    """An identity from a boot's name and a line of /proc/<pid>/stat."""
    boot, stat = record.split(" ", 1)
    after_name = stat.rpartition(")")[2].split()
    return Identity(boot, int(stat.split(" ", 1)[0]), int(after_name[19]))


def recorded(name: str) -> Identity | None:
    """Who a component is, or was; None when it was never started."""
    try:
        return parsed(_record(name).read_text())
    except OSError:
        return None


def alive(name: str) -> bool:
    """Whether that very process runs, or is paused."""
    who = recorded(name)
    return who is not None and _state(who) is not None


def runs(name: str) -> bool:
    """Whether that very process runs, and is not paused."""
    who = recorded(name)
    return who is not None and _state(who) not in {None, "T", "t"}


def start(component: Component) -> None:
    """Start a component in the background; its output goes to its log.

    Of our variables it gets PATH and HOME: a proxy, or a debugging switch, is not the cluster's, and
    most are programs of Go, which collect garbage half as often as they would, for some more memory.

    Raises:
        NotAvailable: It cannot be started.
    """
    live.made("processes")
    _record(component.name).unlink(missing_ok=True)
    own = ["sh", "-c", _SCRIPT, "sh", str(cgroup.make()), str(_record(component.name))]
    command = ["setsid", "--fork", *own, *_entering(component), *component.command]
    with live.log(component.name).open("a") as log:
        log.write(f"+ {shlex.join(component.command)}\n")
        log.flush()
        subprocess.run(
            command,
            cwd=live.folder(),
            env=_COLLECTING | {each: os.environ[each] for each in _OURS if each in os.environ},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=True,
        )
    if not wait_until(_record(component.name).exists, _STOPS_WITHIN):
        raise _failure(component.name, "did not start")


def wait_until_ready(component: Component) -> None:
    """Return when a started component answers.

    Raises:
        NotAvailable: It ended, or does not answer in time; with the last lines of its log.
    """

    def ended_or_ready() -> bool:
        return not alive(component.name) or component.ready()

    in_time = wait_until(ended_or_ready, READY_WITHIN)
    if not alive(component.name):
        raise _failure(component.name, "ended")
    if not in_time:
        raise _failure(component.name, f"does not answer after {READY_WITHIN:.0f} s")


def signalled(name: str, number: int) -> None:
    """Send a signal to a component that runs."""
    who = recorded(name)
    if who is not None and _state(who) is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(who.pid, number)


def stop(name: str) -> None:
    """End a component: asked to, then made to."""
    signalled(name, signal.SIGTERM)
    signalled(name, signal.SIGCONT)
    if not wait_until(lambda: not alive(name), _STOPS_WITHIN):
        signalled(name, signal.SIGKILL)
        wait_until(lambda: not alive(name), _STOPS_WITHIN)
    _record(name).unlink(missing_ok=True)


def _state(who: Identity) -> str | None:
    """The kernel's letter for what a process does; None when it has ended.

    A killed process whose first thread is a zombie holds its port until the last thread is gone.
    """
    process = Path(f"/proc/{who.pid}")
    try:
        stat = (process / "stat").read_text("utf-8")
        threads = len(list((process / "task").iterdir()))
    except OSError:
        return None
    letter = stat.rpartition(")")[2].split()[0]
    same = parsed(f"{_BOOT.read_text().strip()} {stat}") == who
    return letter if same and (letter not in {"Z", "X"} or threads > 1) else None


def _entering(component: Component) -> list[str]:
    if not component.inside:
        return []
    holder = recorded(HOLDER)
    if holder is None or not alive(HOLDER):
        raise NotAvailable("the cluster's namespaces are gone; `make cluster` makes them anew")
    target = ["--target", str(holder.pid), "--net", "--mount"]
    return ["nsenter", *target, f"--wd={live.folder()}"]


def _record(name: str) -> Path:
    return live.folder() / "processes" / name


def _failure(name: str, what: str) -> NotAvailable:
    file = live.log(name)
    last = "\n".join(file.read_text("utf-8", "replace").splitlines()[-20:])
    return NotAvailable(f"{name} {what}; the end of its log ({file}):\n{last}")
