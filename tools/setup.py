"""Make this checkout ready: `.venv` with the package in it, and the Pulumi CLI.

Run by every make target with the system's python3; needs nothing but the standard library. `.venv`
holds exactly what requirements.lock names, each file checked against its hash. What is there
already is reused, so a second run takes a fraction of a second. A `pulumi` on PATH is used as
it is; otherwise it is built once from published Go modules (from_source/pulumi/go.mod, checked against
go.sum) into a cache folder outside the checkout, and put into `.venv/bin` together with the language
host and the server of dynamic providers of from_source/pulumi.
"""

import sys

if not (3, 11) <= sys.version_info < (3, 15):
    sys.exit(
        "a checkout of trainer-infra needs Python 3.11 to 3.14, which requirements.lock is for, and "
        f"this is {sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}); install one of "
        "them and run `make PYTHON=python3.11 ...`"
    )

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "trainer-infra-setup.json"
LOCK = ROOT / "requirements.lock"
WRAPPER = ROOT / "from_source" / "pulumi"
HOST = "pulumi-language-python"
RUNNER = "pulumi-language-python-exec"
SDK = "github.com/pulumi/pulumi/sdk/v3"
HEARTBEAT = 10.0
"""Seconds between two signs of life of a long step."""
NO_PULUMI = (
    "trainer-infra needs the Pulumi CLI and found neither `pulumi` nor `go` on PATH; "
    "install the Pulumi CLI, or install Go so that `make setup` can build it"
)


class SetupFailed(Exception):
    """Setting up cannot go on; the message says why and what to do."""


def main() -> None:
    """Set up, or say in one sentence why not."""
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        with _alone(_cache()):
            _set_up()
    except SetupFailed as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit("setup was interrupted; run it again and it goes on")


def _interrupted(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _set_up() -> None:
    done = _stamp()
    installed = _own_pulumi()
    wanted = {"python": _python_key(), "pulumi": installed or _pulumi_key()}
    if done == wanted and PYTHON.exists():
        return
    steps = []
    if not installed and not _built().exists():
        steps.append(_build())
    if done.get("python") != wanted["python"] or not PYTHON.exists():
        # What is half installed is neither the old nor the new.
        STAMP.unlink(missing_ok=True)
        steps.append(_installation())
    # Side by side: one waits for downloads while the other computes.
    _run(*steps)
    _write_stamp({"python": wanted["python"]})
    if installed:
        print(f"setup: using {installed}", flush=True)
        _unlink_pulumi()
    else:
        _keep_build()
        _link_pulumi()
    _write_stamp(wanted)


# What is there


def _cache() -> Path:
    base = os.environ.get("TRAINER_INFRA_CACHE")
    if base:
        return Path(base).absolute()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "trainer-infra"


def _stamp() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(STAMP.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _write_stamp(content: dict[str, str]) -> None:
    beside = STAMP.with_suffix(".new")
    beside.write_text(json.dumps(content), "utf-8")
    beside.replace(STAMP)


def _python_key() -> str:
    """Also the checkout's place: a virtual environment cannot be moved."""
    return f"{_hash(ROOT / 'pyproject.toml', LOCK)}:{ROOT}"


def _pulumi_key() -> str:
    """Also this file: it writes the launchers."""
    return f"{_built().name}:{_hash(Path(__file__))}"


def _hash(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _own_pulumi() -> str | None:
    """A Pulumi CLI that the user has installed: one on PATH outside of `.venv`."""
    ours = VENV / "bin"
    entries = os.environ.get("PATH", "").split(os.pathsep)
    others = [entry for entry in entries if entry and Path(entry).resolve() != ours]
    return shutil.which("pulumi", path=os.pathsep.join(others))


def _version() -> str:
    required = re.search(r"pulumi/pkg/v3 (v\S+)", (WRAPPER / "go.mod").read_text("utf-8"))
    if required is None:
        raise SetupFailed(
            f"{WRAPPER / 'go.mod'} names no version of github.com/pulumi/pulumi/pkg/v3"
        )
    return required[1]


def _built() -> Path:
    """The cache folder of the CLI we build: its version and what it is built from."""
    sources = [WRAPPER / name for name in ("go.mod", "go.sum", "tools.go")]
    sources += sorted((WRAPPER / HOST).glob("*.go"))
    return _cache() / f"pulumi-{_version()}-{_hash(*sources)}"


# The two long steps


@dataclass(frozen=True, eq=False)
class Step:
    """A command that takes long."""

    what: str
    """What it does, for the user."""
    command: Sequence[str]
    folder: Path = ROOT
    env: Mapping[str, str] | None = None


INSTALLATION = """
"$0" -m venv "$1"
PATH="$1/bin:$PATH"
export PIP_DISABLE_PIP_VERSION_CHECK=1
sed -n '/^uv==/,/[^\\\\]$/p' "$2" > "$1/uv.lock"
python -m pip install --no-deps --require-hashes --only-binary :all: -r "$1/uv.lock"
python tools/locked_packages.py "$1" "$2"
python -m pip install --no-deps --no-index --no-build-isolation -e .
"""
"""The last line builds the package with the setuptools of the lock."""


def _installation() -> Step:
    # venv keeps links to an earlier Python.
    for link in VENV.glob("bin/python*"):
        if os.path.realpath(link) != os.path.realpath(sys.executable):
            link.unlink()
    return Step(
        "installing trainer-infra and its tools into .venv",
        ["sh", "-ec", INSTALLATION, sys.executable, str(VENV), str(LOCK)],
    )


def _build() -> Step:
    if shutil.which("go") is None:
        raise SetupFailed(NO_PULUMI)
    for left_over in _cache().glob("*.partial"):
        shutil.rmtree(left_over)
    _partial().mkdir()
    flags = f"-s -w -X {SDK}/go/common/version.Version={_version()}"
    packages = ["github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", f"./{HOST}"]
    return Step(
        f"building the Pulumi CLI {_version()} from Go modules (once, 4 to 7 minutes)",
        ["go", "build", "-ldflags", flags, "-o", f"{_partial()}{os.sep}", *packages],
        WRAPPER,
        _go_env(),
    )


def _keep_build() -> None:
    """Put what else the CLI needs beside it, and give the folder its name."""
    if _built().exists():
        return
    sdk = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", SDK],
        cwd=WRAPPER,
        env=_go_env(),
        check=False,
        capture_output=True,
        text=True,
    )
    if sdk.returncode != 0:
        raise SetupFailed(f"setup: finding the source of {SDK} failed:\n{sdk.stderr}")
    runner = _partial() / RUNNER
    shutil.copyfile(Path(sdk.stdout.strip(), "python", "cmd", RUNNER), runner)
    runner.chmod(0o755)
    _partial().rename(_built())


def _partial() -> Path:
    return _built().with_name(_built().name + ".partial")


def _go_env() -> dict[str, str]:
    """As in from_source/cluster/build.py, which builds other programs of the same packages."""
    flags = "-mod=readonly -buildvcs=false -gcflags=all=-dwarf=false"
    collection = {"GOGC": "off", "GOMEMLIMIT": "2GiB"}
    return {**os.environ, **collection, "GOFLAGS": flags, "GOWORK": "off", "CGO_ENABLED": "0"}


def _run(*steps: Step) -> None:
    """Run the steps side by side, their output in log files, showing that they live.

    Raises:
        SetupFailed: one failed; the message ends with the last lines of its log.
    """
    started = time.monotonic()
    running: dict[Step, subprocess.Popen[bytes]] = {}
    try:
        for step in steps:
            running[step] = _start(step)
        shown = started
        while running:
            time.sleep(0.1)
            for step in [each for each, child in running.items() if child.poll() is not None]:
                _check(step, running.pop(step).returncode, time.monotonic() - started)
            if running and time.monotonic() - shown > HEARTBEAT:
                shown = time.monotonic()
                print(f"setup: ... {shown - started:.0f} s", flush=True)
    finally:
        # All are told before one is awaited: a second Ctrl-C ends the waiting.
        for child in running.values():
            os.killpg(child.pid, signal.SIGTERM)
        for child in running.values():
            child.wait()


def _start(step: Step) -> "subprocess.Popen[bytes]":
    print(f"setup: {step.what} ...", flush=True)
    with _log(step).open("w") as output:
        return subprocess.Popen(
            step.command,
            cwd=step.folder,
            env=step.env,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _check(step: Step, code: int, seconds: float) -> None:
    if code != 0:
        last = "\n".join(_log(step).read_text("utf-8", "replace").splitlines()[-20:])
        raise SetupFailed(
            f"setup: {step.what} failed (exit code {code}, log {_log(step)}):\n{last}"
        )
    print(f"setup: ... {step.what.split(' (')[0]}: done after {seconds:.0f} s", flush=True)


def _log(step: Step) -> Path:
    return _cache() / f"setup-{'-'.join(step.what.split()[:3])}.log"


# What .venv/bin holds of it


def _link_pulumi() -> None:
    """Put the CLI and its Python plugins into `.venv/bin`.

    Hard links where the file system allows them: the engine looks for its plugins beside its own
    executable, and warns when it finds others first on PATH.
    """
    folder = VENV / "bin"
    _unlink_pulumi()
    for name in ("pulumi", HOST, RUNNER):
        try:
            (folder / name).hardlink_to(_built() / name)
        except OSError:
            shutil.copy2(_built() / name, folder / name)
    python = f'exec "{VENV}/bin/python" -u'
    _launcher(folder / "pulumi-resource-pulumi-python", f'{python} "{WRAPPER}/dynamic_provider.py"')
    # That one runs a user's modules, which those of a checkout must not hide.
    stand_in = f'PYTHONPATH="{ROOT}" {python} -m from_source.kubernetes_plugin'
    _launcher(folder / "pulumi-resource-kubernetes", stand_in)


def _launcher(path: Path, program: str) -> None:
    path.write_text(f'#!/bin/sh\n{program} "$@"\n', "utf-8")
    path.chmod(0o755)


def _unlink_pulumi() -> None:
    plugins = ("pulumi-resource-pulumi-python", "pulumi-resource-kubernetes")
    for name in ("pulumi", HOST, RUNNER, *plugins):
        (VENV / "bin" / name).unlink(missing_ok=True)


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Hold the lock that makes a second setup wait for the first."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: waiting for another setup to finish ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
