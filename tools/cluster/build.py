"""Programs of a cluster: the one on PATH, else built once from published Go modules.

For the file of each component (etcd.py, kube_apiserver.py). What is built is kept in the
cache folder, outside the checkout, under the hash of what it is built from; go.mod and go.sum of
the wrapper modules under go/ fix every version.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra import home_folders
from trainer_infra.errors import NotAvailable

WRAPPERS: Final = Path(__file__).parent / "go"
"""Go modules of our own that name a published one, with its `replace` lines."""

GO_ENVIRONMENT: Final = {
    # What is linked has no debugging information, so none is compiled, which saves a sixteenth.
    "GOFLAGS": "-mod=readonly -buildvcs=false -gcflags=all=-dwarf=false",
    "GOWORK": "off",
    "CGO_ENABLED": "0",
}
"""Variables of every build. Packages of one version that several programs have are compiled once, for
their flags are the same; tools/setup.py, which imports nothing, has them too."""

REFUSED: Final = "TRAINER_INFRA_NO_GO"
"""Set where nothing may be fetched or built by Go, as in tests that `make test` runs."""

_HEARTBEAT: Final = 10.0
"""Seconds between two signs of life of a build."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program in a published Go module."""

    name: str
    """File name of the program."""
    wrapper: str
    """Folder under go/ whose go.mod names the module."""
    package: str
    """Import path of its main package."""
    ldflags: str = "-s -w"
    """The linker's flags: without symbols, and the version where the program wants one."""


def cache() -> Path:
    """The folder of what is built and downloaded for clusters; made where it is missing."""
    folder = home_folders.cache_home() / "cluster"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def found(program: Program) -> str:
    """The file of the program on PATH, else of the one that is built, now where it is missing.

    Raises:
        NotAvailable: It may not be had here, or cannot be built.
    """
    must_be_allowed(program.name)
    return shutil.which(program.name) or str(built(program))


def must_be_allowed(what: str) -> None:
    """Return where Go may fetch and build.

    Raises:
        NotAvailable: It may not.
    """
    if os.environ.get(REFUSED):
        raise NotAvailable(
            f"{what} comes from Go modules, which `make test` does without: a test that needs it asks "
            "for a fixture of tests/cluster_programs.py, or is marked `verify`"
        )


def built(program: Program) -> Path:
    """The program's file, built now where it is missing; that takes minutes and says so.

    Static (no C compiler is needed), so that it also runs in an image without a system.

    Raises:
        NotAvailable: There is no Go here, it may not be used, or the build failed; the message ends with its output.
    """
    must_be_allowed(program.name)
    file = cache() / _key(program) / program.name
    if file.exists():
        return file
    with alone("build"):
        if not file.exists():
            _build(program, file)
    return file


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Hold the lock that makes a second process wait for what this one puts into the cache."""
    with (cache() / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _key(program: Program) -> str:
    """Hash of all that decides what is built."""
    digest = hashlib.sha256(f"{program.package} {program.ldflags}".encode())
    for name in ("go.mod", "go.sum"):
        digest.update((WRAPPERS / program.wrapper / name).read_bytes())
    return digest.hexdigest()[:12]


def _build(program: Program, file: Path) -> None:
    if shutil.which("go") is None:
        raise NotAvailable(
            f"a test cluster needs {program.name} and found neither it nor `go` on PATH; "
            "install Go, so that it can be built from published modules"
        )
    file.parent.mkdir(exist_ok=True)
    partial, log = file.with_suffix(".partial"), file.with_suffix(".log")
    print(f"cluster: building {program.name} from Go modules (once, minutes) ...", flush=True)
    command = ["go", "build", "-ldflags", program.ldflags, "-o", str(partial), program.package]
    started = time.monotonic()
    with log.open("w") as output:
        running = subprocess.Popen(
            command,
            cwd=WRAPPERS / program.wrapper,
            env=os.environ | GO_ENVIRONMENT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        code = _watched(running, started)
    if code != 0:
        last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-20:])
        raise NotAvailable(f"building {program.name} failed (exit code {code}, log {log}):\n{last}")
    partial.rename(file)
    took = time.monotonic() - started
    print(f"cluster: ... {program.name} is built after {took:.0f} s", flush=True)


def _watched(running: "subprocess.Popen[bytes]", started: float) -> int:
    """The exit code of a build, which ends with this process if that is interrupted."""
    try:
        while True:
            try:
                return running.wait(_HEARTBEAT)
            except subprocess.TimeoutExpired:
                print(f"cluster: ... {time.monotonic() - started:.0f} s", flush=True)
    finally:
        running.terminate()
        running.wait()
