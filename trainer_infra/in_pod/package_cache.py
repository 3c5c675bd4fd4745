"""The packages of a job in a folder of its pods: installed once, found by every later start.

An environment is under a hash of all that it depends on, among it what the image's own Python has.
It is made where it stays, for scripts name their interpreter by its path, and published by one
rename once it is whole. The cache may be on a volume of many machines: two that install at once do
no harm, each has a folder of its own, so a file system without locks costs time only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from trainer_infra.in_pod import package_installation
from trainer_infra.in_pod.package_installation import InstallationError

PAUSE = 0.5
"""Seconds between two looks at what another process does."""
BEAT = 5.0
"""Seconds between two signs of life of who installs."""
SILENCE = 60.0
"""Seconds without one after which others wait no longer: a machine that is gone keeps its lock on NFS."""
WHOLE = "whole"
"""File of an environment that was installed to its end."""


def main(mount: str, command: list[str]) -> None:
    """Install what is missing, and become the command: program and arguments.

    `mount` is the folder of the code, with `packages.txt`: options of the installer and requirements, a line
    each. The cache is the folder `packages` beside it.
    """
    signal.signal(signal.SIGTERM, end_with_signal)
    lines = Path(mount, "packages.txt").read_text(encoding="utf-8").splitlines()
    # What an installer writes is for every user of the cache.
    mask = os.umask(0o022)
    try:
        folder = ready_environment(Path(mount).parent / "packages", lines)
        os.umask(mask)
        become(command, folder)
    except (InstallationError, OSError) as error:
        package_installation.say(str(error))
        leave_last_words(f"trainer-infra: {error}")
        sys.exit(1)


def end_with_signal(number: int, _frame: FrameType | None) -> None:
    """End as a program that a signal ended; what installs is ended on the way."""
    sys.exit(128 + number)


def ready_environment(cache: Path, lines: list[str]) -> Path:
    """The virtual environment with the packages, installed when it is not there yet."""
    key = environment_key(lines)
    found = whole_environment(cache, key)
    if found:
        return found
    with turn(cache, key):
        # Who was waited for has installed it by now, or could not.
        return whole_environment(cache, key) or make_environment(cache, key, lines)


def environment_key(lines: list[str]) -> str:
    """A hash of all that an environment depends on: requirements, Python, platform, what the image has."""
    content = [
        sorted(lines),
        [sys.implementation.cache_tag, platform.python_version(), sys.executable, sys.prefix],
        [sysconfig.get_platform(), platform.libc_ver()],
        sorted({name for folder in sys.path for name in distributions_in(folder)}),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def distributions_in(folder: str) -> list[str]:
    """Name and version of each distribution in a folder of sys.path, by the names of their metadata."""
    with contextlib.suppress(OSError):
        return [each.name for each in Path(folder).iterdir() if each.name.endswith("-info")]
    return []


def whole_environment(cache: Path, key: str) -> Path | None:
    """The environment that the cache has under a key, which is said; None where it has none."""
    marker = cache / f"{key}.ready"
    try:
        made = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    folder: Path = cache / made["folder"]
    if not (folder / WHOLE).exists():
        return None
    with contextlib.suppress(OSError):
        # For who removes what is not used: another user's file cannot be touched.
        os.utime(marker)
    package_installation.say(
        f"nothing to install, the packages are in the cache ({key}, by {made['by']})"
    )
    return folder


@contextlib.contextmanager
def turn(cache: Path, key: str) -> Iterator[None]:
    """Wait until no other process installs under the key, or who does gives no sign of life."""
    path = cache / f"{key}.lock"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InstallationError(not_writable(cache, error)) from None
    with contextlib.suppress(OSError):
        # Whichever user comes first makes the file, under a mask.
        os.fchmod(handle, 0o666)
    try:
        wait_for_lock(handle, path, cache / f"{key}.ready")
        with signs_of_life(handle):
            yield
    finally:
        os.close(handle)


def not_writable(cache: Path, error: OSError) -> str:
    """What to do about a cache in which this user may not write."""
    return (
        f"the packages cannot be installed: {error.strerror} in {cache} as user {os.getuid()}; let that "
        "user write in the folder that trainer:packages names (fsGroup for a claim, chmod for a node's "
        "folder), or remove that setting, and each pod installs for itself"
    )


def wait_for_lock(handle: int, path: Path, ready: Path) -> None:
    """Return with the lock, when there is an environment, or when who holds it seems dead."""
    seen, since = None, time.monotonic()
    while not lock(handle):
        # Opened anew each time: then an NFS client asks its server.
        now = path.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        if seen is None:
            who = now.partition(" ")[0] or "another process"
            package_installation.say(f"waiting for {who}, which installs the packages")
        if now != seen:
            seen, since = now, time.monotonic()
        if ready.exists():
            return
        if time.monotonic() - since > SILENCE:
            package_installation.say(f"it gave no sign of life for {SILENCE:g} s: installing here")
            return
        time.sleep(PAUSE)


def lock(handle: int) -> bool:
    """Whether this process has the lock, or the file system knows none."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


@contextlib.contextmanager
def signs_of_life(handle: int) -> Iterator[None]:
    """Write into the lock's file, every few seconds, who installs."""
    ended = threading.Event()
    count = 0

    def beat() -> None:
        nonlocal count
        count += 1
        with contextlib.suppress(OSError):
            # In one write, and not cut off before it: who waits reads the first line at any time.
            os.pwrite(handle, f"{os.uname().nodename} {count}\n".encode(), 0)
            os.fsync(handle)

    def beats() -> None:
        while not ended.wait(BEAT):
            beat()

    beat()
    thread = threading.Thread(target=beats, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def make_environment(cache: Path, key: str, lines: list[str]) -> Path:
    """A new environment, published; nothing of it stays when that fails."""
    own = f"{key}.{os.uname().nodename}."
    try:
        folder = Path(tempfile.mkdtemp(prefix=own, dir=cache))
    except OSError as error:
        raise InstallationError(not_writable(cache, error)) from None
    remove_unfinished(cache, own, folder)
    try:
        package_installation.install_packages(folder, lines)
        folder.chmod(0o755)
        (folder / WHOLE).touch()
        made = cache / f"{folder.name}.made"
        content = {"folder": folder.name, "by": os.uname().nodename}
        made.write_text(json.dumps(content), encoding="utf-8")
        made.replace(cache / f"{key}.ready")
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise InstallationError(f"the packages cannot be installed: {error}") from None
        raise
    return folder


def remove_unfinished(cache: Path, own: str, new: Path) -> None:
    """Remove what was killed half way: of this pod at once, of others when no installation lasts so long."""
    # By the clock of the cache's file system alone.
    oldest = new.stat().st_mtime - 2 * package_installation.limit()
    for each in cache.glob("*.*.*"):
        with contextlib.suppress(OSError):
            is_own = each.name.startswith(own)
            if each in {new, new.parent / f"{new.name}.made"} or (each / WHOLE).exists():
                continue
            if each.is_dir() and (is_own or each.stat().st_mtime < oldest):
                shutil.rmtree(each, ignore_errors=True)


def become(command: list[str], folder: Path) -> None:
    """Replace this process by the command, which finds the packages first.

    `python` is the environment's; programs of the image keep theirs, and find the packages by PYTHONPATH.

    Raises:
        InstallationError: There is no such program, or it cannot be executed.
    """
    site = str(package_installation.site_folder(folder))
    for name, first in (("PATH", str(folder / "bin")), ("PYTHONPATH", site)):
        rest = os.environ.get(name) or (os.defpath if name == "PATH" else "")
        os.environ[name] = f"{first}{os.pathsep}{rest}" if rest else first
    os.environ["VIRTUAL_ENV"] = str(folder)
    for each in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores them, and a program that is executed would go on to.
        signal.signal(each, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606  the pod's own command
    except FileNotFoundError:
        # In the words of a container runtime, which everything that explains failures knows.
        why = "executable file not found in $PATH, neither of the image nor of packages="
    except OSError as error:
        why = str(error.strerror)
    raise InstallationError(f'exec: "{command[0]}": {why}')


def leave_last_words(text: str) -> None:
    """Leave a message where the kubelet reads what a container ended with."""
    path = Path(os.environ.get("TRAINER_INFRA_REPORT") or "/dev/termination-log")
    with contextlib.suppress(OSError):
        # Outside of a pod there is no such file, and none is made.
        if path.exists():
            path.write_text(text, encoding="utf-8")
