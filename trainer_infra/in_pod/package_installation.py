"""Installs packages into a new virtual environment over what an image's own Python has.

pip of the image does it, where the image has one, for it counts what is there: a torch of the image
is not fetched again.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

LIMIT = 7200.0
"""Seconds that an installer may take; `TRAINER_INFRA_PACKAGES_SECONDS` is another number."""
LONGEST = 1500
"""Characters of an installer's words that a message has: a pod's last message has 4096 bytes at most."""
SHOWN = 5
"""Packages that a message names."""
TEMPORARY = "tmp"
"""Folder of an environment that is being made, for downloads: those fit on the volume of the cache."""
HASH = " --hash="
"""What is between a requirement and each of its hashes."""
OURS = "trainer-infra"
"""The installer in metadata that is only shown to uv."""
UNREACHABLE = "no package index answers"
BROKEN = (
    r"connection broken by '(.*)': |(Could not fetch URL .*) - skipping|(error sending request.*)"
)
BUILD = "build the packages into the image and set image_has_packages=True on the CustomTrainer"
REMEDY = f"correct packages=, or {BUILD}"
NO_INDEX = f"name an index that pods can reach in pip_index_urls=, give the wheels in wheel_house=, or {BUILD}"
NOTHING = "it said nothing"
LIST = """
import importlib.metadata, json
for each in importlib.metadata.distributions():
    if each.metadata["Name"]:
        print(json.dumps([each.metadata["Name"], each.version, each.requires or []]))
"""
"""A program that prints name, version and requirements of everything that a Python can import."""


class InstallationError(Exception):
    """The packages are not there, and why."""


def install_packages(folder: Path, lines: list[str]) -> None:
    """Make an environment in an empty folder, and install into it.

    The lines are options of the installer, each of which begins with two dashes, and requirements.

    Raises:
        InstallationError: There is no installer, or it failed; with its exit code and its reason.
    """
    (folder / TEMPORARY).mkdir()
    options = [each for each in lines if each.startswith("--")]
    wanted = [each for each in lines if not each.startswith("--")]
    shell = Shell(folder, shown(wanted))
    make_virtual_environment(folder, shell)
    name = installer_name(shell)
    say(f"installing {shell.packages} with {name}")
    file = folder / TEMPORARY / "requirements.txt"
    arguments = [*options, *requirement_arguments(wanted, file)]
    if name == "uv":
        install_with_uv(folder, arguments, shell)
    else:
        quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        shell.call("pip", "-m", "pip", "install", *quiet, "--no-cache-dir", *arguments)
    shutil.rmtree(folder / TEMPORARY)
    say(f"installed {shell.packages}")


def say(text: str) -> None:
    """A line in the pod's log."""
    print(f"trainer-infra: {text}", file=sys.stderr, flush=True)  # noqa: T201  the pod's log


def limit() -> float:
    """Seconds that an installer may take."""
    return float(os.environ.get("TRAINER_INFRA_PACKAGES_SECONDS") or LIMIT)


def shown(wanted: list[str]) -> str:
    """The requirements without markers and hashes, the first few of them by name."""
    names = [re.split(r"\s+--hash=|\s*;", each)[0] for each in wanted]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def site_folder(folder: Path) -> Path:
    """Where the packages of a virtual environment are."""
    scheme = "venv" if "venv" in sysconfig.get_scheme_names() else "posix_prefix"
    bases = {"base": str(folder), "platbase": str(folder)}
    return Path(sysconfig.get_path("purelib", scheme, bases))


def make_virtual_environment(folder: Path, shell: Shell) -> None:
    """One that sees all that the image's Python sees, which may be a virtual environment itself."""
    is_nested = sys.prefix != sys.base_prefix
    settings = Path(sys.prefix, "pyvenv.cfg").read_text(encoding="utf-8") if is_nested else ""
    sees_base = not is_nested or "include-system-site-packages = true" in settings.lower()
    options = ["--without-pip", *(["--system-site-packages"] if sees_base else [])]
    shell.call("venv", "-m", "venv", *options, str(folder), python=sys.executable)
    if is_nested:
        lines = [f"import site; site.addsitedir({each!r})\n" for each in site.getsitepackages()]
        image = site_folder(folder) / "trainer_infra_image.pth"
        image.write_text("".join(lines), encoding="utf-8")


def installer_name(shell: Shell) -> str:
    """`pip` where the image has it, else `uv`, else the pip that Python brings; or the one asked for."""
    asked = os.environ.get("TRAINER_INFRA_INSTALLER") or ""
    if asked != "uv" and importlib.util.find_spec("pip"):
        return "pip"
    if asked != "pip" and shutil.which("uv"):
        return "uv"
    if asked != "uv" and importlib.util.find_spec("ensurepip"):
        shell.call("ensurepip", "-m", "ensurepip")
        return "pip"
    missing = f"no {asked}" if asked else "neither pip nor uv"
    raise InstallationError(
        f"the packages {shell.packages} cannot be installed: the image has {missing}; "
        f"train on an image that has pip, or {BUILD}"
    )


def requirement_arguments(wanted: list[str], file: Path) -> list[str]:
    """The requirements, in a file where they have hashes, for those are taken from files only."""
    if not any(HASH in each for each in wanted):
        return wanted
    file.write_text("".join(f"{each}\n" for each in wanted), encoding="utf-8")
    return ["--require-hashes", "-r", str(file)]


def install_with_uv(folder: Path, arguments: list[str], shell: Shell) -> None:
    """Install with uv, which counts nothing but what is in the environment itself.

    So it is shown the metadata of the image's packages there. What it leaves of that is removed.
    """
    packages = site_folder(folder)
    for line in shell.call("", "-c", LIST):
        show_image_package(packages, *json.loads(line))
    if any(each.startswith("--extra-index-url") for each in arguments):
        # To pip all indexes are equal; uv by itself would take the first that knows a name.
        arguments = ["--index-strategy", "unsafe-best-match", *arguments]
    quiet = ["--color", "never", "--no-progress", "--no-cache", "--python", str(shell.python)]
    shell.call("uv", "pip", "install", *quiet, *arguments, python="uv")
    for each in packages.glob("*.dist-info/INSTALLER"):
        if each.read_text(encoding="utf-8") == OURS:
            shutil.rmtree(each.parent)


def show_image_package(packages: Path, name: str, version: str, needs: list[str]) -> None:
    """Write metadata of a package that is elsewhere."""
    folder = packages / f"{re.sub('[-_.]+', '_', name)}-{version}.dist-info"
    with contextlib.suppress(FileExistsError):
        # Of two with one name Python takes the first, and so does this.
        folder.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {each}" for each in needs]
        (folder / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "INSTALLER").write_text(OURS, encoding="utf-8")
        files = [f"{folder.name}/{each},,\n" for each in ("METADATA", "INSTALLER", "RECORD")]
        (folder / "RECORD").write_text("".join(files), encoding="utf-8")


class Shell:
    """Runs the commands of one installation, with their output in the pod's log."""

    def __init__(self, folder: Path, packages: str) -> None:
        """The environment's folder, and the packages as a message names them."""
        self.python = folder / "bin" / "python"
        self.packages = packages
        elsewhere = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIREMENT", "VIRTUAL_ENV"}
        kept = {key: value for key, value in os.environ.items() if key not in elsewhere}
        own = {"PIP_USER": "0", "PIP_ROOT_USER_ACTION": "ignore"}
        self.environment = {**kept, **own, "TMPDIR": str(folder / TEMPORARY)}

    def call(self, name: str, *arguments: str, python: str = "") -> list[str]:
        """Run a command of the environment's Python, or of the program `python`; the lines that it printed.

        Messages name it by `name`; what has none is not shown in the log.

        Raises:
            InstallationError: It failed, or took longer than `limit`.
        """
        said: list[str] = []
        child = subprocess.Popen(
            [python or str(self.python), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        timer = threading.Timer(limit(), end_group, [child.pid])
        timer.daemon = True
        timer.start()
        try:
            for line in child.stdout or ():
                said.append(line.rstrip("\n"))
                if name:
                    sys.stderr.write(line)
                    sys.stderr.flush()
            code = child.wait()
            is_late = timer.finished.is_set()
        finally:
            timer.cancel()
            end_group(child.pid)
            child.communicate()
        if code:
            why = f"it did not end within {limit():g} s" if is_late else failure_reason(said)
            fix = NO_INDEX if is_late or why.startswith(UNREACHABLE) else REMEDY
            raise InstallationError(
                f"the packages {self.packages} cannot be installed: {name} ended with exit code {code}: "
                f"{why.rstrip('.')}; {fix}"
            )
        return said


def end_group(group: int) -> None:
    """End an installer and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def failure_reason(lines: list[str]) -> str:
    """What an installer said of its failure, in one line."""
    broken = [found for line in lines if (found := re.search(BROKEN, line))]
    errors = " ".join(line.partition(": ")[2] for line in lines if line.startswith("ERROR: "))
    if broken and (not errors or "from versions: none" in errors or broken[-1][3]):
        # An object of urllib3 is in the words: its address says nothing.
        why = next(filter(None, broken[-1].groups()))
        return f"{UNREACHABLE}: {re.sub(r'<[^<>]* object at [^<>]*>: ', '', why)[:LONGEST]}"
    # Of uv's chain of causes the first line is an error, and those after it are what it means.
    begin = next((i for i, line in enumerate(lines) if re.match(r"error: | +\u00d7 ", line)), None)
    said = lines[begin:] if begin is not None else lines[-5:]
    last = [re.sub(r"^[^\w\[`]*(error: |cause: )?", "", line).strip() for line in said]
    return (errors if begin is None and errors else " ".join(last).strip() or NOTHING)[-LONGEST:]
