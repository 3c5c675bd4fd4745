"""Programs of a cluster: the one on PATH, else built once from published Go modules.

For the file of each component (etcd.py, kube_apiserver.py). What is built is kept in the
cache folder, outside the checkout, under the hash of what it is built from; go.mod and go.sum of
the wrapper modules under go/ fix every version. JobSet, Kueue, KWOK and LeaderWorkerSet are for one
Kubernetes: their libraries have one version in all four, the highest that one asks for, and are compiled
once.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    # A third of the compiler's time is its own garbage collection: none before it holds this much.
    "GOGC": "off",
    "GOMEMLIMIT": "2GiB",
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
    """Folder under go/ whose go.mod names the module, or an absolute path with a program of ours."""
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


def not_on_path(programs: Sequence[Program]) -> list[Program]:
    """Those that have to be built."""
    return [each for each in programs if shutil.which(each.name) is None]


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
    build_all((program,))
    return _file(program)


def build_all(programs: Sequence[Program]) -> None:
    """Build those that are missing, in one pass: those of one module by one command.

    The compiler uses all cores, so a second pass beside it waits for it.

    Raises:
        NotAvailable: There is no Go here, it may not be used, or a build failed.
    """
    for each in programs:
        must_be_allowed(each.name)
    if all(map(_is_built, programs)):
        return
    with alone("build"):
        missing = [each for each in dict.fromkeys(programs) if not _is_built(each)]
        done = 0
        for together in _commands(missing):
            done += len(together)
            _build(together, f"{done} of {len(missing)}")


def _file(program: Program) -> Path:
    return cache() / _key(program) / program.name


def _is_built(program: Program) -> bool:
    return _file(program).exists()


def _commands(programs: Sequence[Program]) -> list[list[Program]]:
    """The programs by what one command can build."""
    found: dict[tuple[str, str], list[Program]] = {}
    for each in programs:
        found.setdefault((each.wrapper, each.ldflags), []).append(each)
    return list(found.values())


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Hold the lock that makes a second process wait for what this one puts into the cache; it says so."""
    with (cache() / f"{what}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"cluster: waiting for another process ({what}) ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _key(program: Program) -> str:
    """Hash of all that decides what is built."""
    digest = hashlib.sha256(f"{program.package} {program.ldflags}".encode())
    for name in ("go.mod", "go.sum", "main.go"):
        file = WRAPPERS / program.wrapper / name
        digest.update(file.read_bytes() if file.exists() else b"")
    return digest.hexdigest()[:12]


def _build(programs: Sequence[Program], place: str) -> None:
    """Build programs of one module that have the same flags."""
    names, first = ", ".join(each.name for each in programs), programs[0]
    if shutil.which("go") is None:
        raise NotAvailable(
            f"a test cluster needs {names} and found neither it nor `go` on PATH; "
            "install Go, so that it can be built from published modules"
        )
    print(f"cluster: building {names} from Go modules ({place}; once, minutes) ...", flush=True)
    started = time.monotonic()
    with ExitStack() as ending:
        made = Path(ending.enter_context(tempfile.TemporaryDirectory(dir=cache())))
        log = _file(first).with_suffix(".log")
        log.parent.mkdir(exist_ok=True)
        targets = [each.package for each in programs]
        # A module's version at the end of its path is not the program's name.
        output = f"{made}/" if len(programs) > 1 else str(made / first.name)
        running = subprocess.Popen(
            ["go", "build", "-ldflags", first.ldflags, "-o", output, *targets],
            cwd=WRAPPERS / first.wrapper,
            env=os.environ | GO_ENVIRONMENT,
            stdout=ending.enter_context(log.open("w")),
            stderr=subprocess.STDOUT,
        )
        code = _watched(running, started)
        if code != 0:
            last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-20:])
            raise NotAvailable(f"building {names} failed (exit code {code}, log {log}):\n{last}")
        for each in programs:
            _file(each).parent.mkdir(exist_ok=True)
            (made / each.name).rename(_file(each))
    took = time.monotonic() - started
    print(f"cluster: ... {names} built after {took:.0f} s", flush=True)


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
