"""Packages are installed into a new virtual environment, and how far that is."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.errors import NotAvailable
from trainer_infra.in_pod import package_installation
from trainer_infra.local import disk_use, installer, pip_settings, pod_environment
from trainer_infra.local.children import Children, Command
from trainer_infra.local.installer import Installer
from trainer_infra.words import listed

BEGIN: Final = "installing "
"""What the log begins with, before the packages."""
INSTALLERS: Final = ("uv", "pip")
WITH: Final = " with "
"""In the log's first line between the packages and the installer."""
TEMPORARY: Final = ".installing"
"""Folder for downloads in an environment that is being made."""
REQUIREMENTS: Final = f"{TEMPORARY}/requirements.txt"
"""The file of requirements that have hashes."""
SHOWN: Final = 3
"""Packages that a line of progress names."""
REASON: Final = 1000
"""Characters of an installer's reason that a message has at most."""


def installation_log(venv: Path) -> Path:
    """What installing an environment printed, the packages in the first line."""
    return venv.with_suffix(".log")


def package_names(venv: Path) -> str:
    """The packages of an environment by its log, separated by commas; empty where it has none."""
    first = next(iter(_lines(installation_log(venv))), "")
    return first.removeprefix(BEGIN).rpartition(WITH)[0] if first.startswith(BEGIN) else ""


async def make_environment(
    venv: Path, packages: Sequence[str], children: Children, mark: str
) -> None:
    """Make an environment; nothing but its log stays when that fails or is cancelled.

    Raises:
        NotAvailable: The installer failed, or is not there; the message says why.
    """
    shutil.rmtree(venv, ignore_errors=True)
    (venv / TEMPORARY).mkdir(mode=0o700, parents=True)
    installation_log(venv).unlink(missing_ok=True)
    own = {names.PROCESS_MARK: f"{mark}/packages", "TMPDIR": str(venv / TEMPORARY)}
    shell = _Shell(
        venv, pod_environment.inherited_environment(*pod_environment.INSTALLERS) | own, children
    )
    try:
        chosen = await _installer(packages, shell)
        for arguments in chosen.commands:
            code = await shell.run(arguments, installation_log(venv), chosen.environment)
            _check(packages, installation_log(venv), chosen, code)
        shutil.rmtree(venv / TEMPORARY)
    except BaseException:
        shutil.rmtree(venv, ignore_errors=True)
        raise


def installation_progress(venv: Path, packages: Sequence[str]) -> str:
    """What to say while an environment is made: which packages, and how far it is."""
    found = _names(packages)
    what = f"{BEGIN}{listed(found, most=SHOWN)}"
    lines = _lines(installation_log(venv))
    is_uv = bool(lines) and lines[0].endswith(f"{WITH}uv")
    state = installer.uv_state if is_uv else installer.pip_state
    now = state(lines, disk_use.size_of(venv / TEMPORARY))
    if now.unpacking:
        size = f" of {disk_use.size_text(now.announced)}" if now.announced else ""
        return f"{what}: unpacking {now.unpacking} package{'s' * (now.unpacking != 1)}{size}"
    if not now.announced:
        return what
    at_least = "" if now.is_all else "at least "
    return f"{what}: {disk_use.size_text(now.downloaded)} of {at_least}{disk_use.size_text(now.announced)}"


@dataclass(frozen=True, slots=True)
class _Shell:
    """Runs the commands of one installation."""

    venv: Path
    environment: Mapping[str, str]
    children: Children

    async def run(
        self, arguments: Sequence[str], output: Path, more: Mapping[str, str] | None = None
    ) -> int:
        """The exit code; a command that is cancelled has ended when this returns."""
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        command = Command(arguments, {**self.environment, **(more or {})}, self.venv)
        return await self.children.run(command, handle)


async def _installer(packages: Sequence[str], shell: _Shell) -> Installer:
    """Who installs, as the log says: uv where it is there and takes the settings of pip, else pip."""
    uv, asked = installer.uv_command(), os.environ.get(names.INSTALLER) or ""
    if asked and asked not in INSTALLERS:
        raise NotAvailable(f"{names.INSTALLER} names no installer, got {asked!r}; use uv or pip")
    if asked == "uv" and uv is None:
        where = f"neither beside {sys.executable} nor on PATH"
        raise NotAvailable(f"{names.INSTALLER} is uv, which is {where}; install it, or use pip")
    why = ""
    if uv is not None and asked != "pip":
        settings = await _pip_settings(shell)
        unsayable = "" if asked else pip_settings.not_passed_on(settings)
        if not unsayable:
            _begin(shell.venv, packages, "uv")
            variables = pip_settings.for_uv(settings, shell.environment)
            wanted = installer.requirement_arguments(packages, shell.venv / REQUIREMENTS)
            return installer.uv_installer(uv, shell.venv, wanted, variables)
        why = f", which has a setting that uv does not know: {unsayable}"
    _begin(shell.venv, packages, f"pip{why}")
    return installer.pip_installer(shell.venv, packages, shell.venv / REQUIREMENTS)


async def _pip_settings(shell: _Shell) -> Mapping[str, str]:
    if find_spec("pip") is None:
        return pip_settings.pip_variables(shell.environment)
    output = shell.venv / TEMPORARY / "settings"
    await shell.run([sys.executable, *pip_settings.LIST], output)
    return pip_settings.pip_settings(_lines(output))


def _begin(venv: Path, packages: Sequence[str], installer: str) -> None:
    first = f"{BEGIN}{', '.join(_names(packages))}{WITH}{installer}\n"
    installation_log(venv).write_text(first, encoding="utf-8")


def _names(packages: Sequence[str]) -> list[str]:
    """The packages, without options and hashes."""
    wanted = [each for each in sorted(packages) if not each.startswith(names.INSTALLER_OPTION)]
    return [each.partition(package_installation.HASH)[0] for each in wanted]


def _lines(path: Path) -> list[str]:
    """The lines of a file; none where there is no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _check(packages: Sequence[str], output: Path, used: Installer, code: int) -> None:
    if code == 0:
        return
    why = used.reason(_lines(output)).rstrip(".")
    shown = why if len(why) <= REASON else f"{why[:REASON]}..."
    raise NotAvailable(
        f"{BEGIN}{', '.join(_names(packages))} failed: {used.name} exited with {code}: {shown} "
        f"(all of its output is in {output})"
    )
