"""`trainer-infra lock`: requirements -> a lock file for `packages=`, resolved once, by uv.

The lock holds for every platform and for the Python that is named and later ones, with the hashes
of all files. What is there already stays at its version where the requirements allow it. The file
is replaced only by one that CustomTrainer takes.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import typer

from trainer_infra.cli.options import LockRequest
from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.local import installer, pip_settings, pod_environment
from trainer_infra.trainers.pods import lock_file

SUFFIX: Final = ".lock"
INSTALL: Final = "install it (`pip install uv`)"


def lock_requirements(request: LockRequest) -> Path:
    """Write the lock; its path.

    Raises:
        InvalidInput: The lock would have a requirement that is not pinned.
        NotAvailable: There is no uv or no requirements file, or they cannot be resolved.
    """
    uv = installer.uv_command()
    if uv is None:
        where = f"neither beside {sys.executable} nor on PATH"
        raise NotAvailable(f"locking packages needs uv, which is {where}; {INSTALL}")
    if not request.requirements.is_file():
        raise NotAvailable(
            f"there is no file {request.requirements}; write what you import into it, a line each, for "
            "example `trl>=0.20`"
        )
    output = request.output or request.requirements.with_suffix(SUFFIX)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".locking-") as folder:
        made = Path(folder, output.name)
        if output.exists() and not request.upgrade:
            shutil.copy(output, made)
        _compile(uv, request, made, Path(folder, "excluded"))
        try:
            locked = len(lock_file.read_lock(made).requirements)
        except InvalidInput as error:
            given = str(request.requirements)
            raise InvalidInput(replace(each, where=given) for each in error.problems) from error
        made.replace(output)
    typer.echo(f"{output}: {locked} packages; give it to CustomTrainer(packages={str(output)!r})")
    return output


def _compile(uv: Sequence[str], request: LockRequest, made: Path, excluded: Path) -> None:
    python = request.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    again = ["trainer-infra", "lock", str(request.requirements), "--python", python]
    again += [part for each in request.image_has or () for part in ("--image-has", each)]
    options = ["--universal", "--generate-hashes", "--color", "never", "--no-progress"]
    options += ["--python-version", python, "--custom-compile-command", " ".join(again)]
    if request.image_has:
        excluded.write_text("".join(f"{each}\n" for each in request.image_has), encoding="utf-8")
        options += ["--excludes", str(excluded)]
    done = subprocess.run(
        [*uv, "pip", "compile", *options, "--output-file", str(made), str(request.requirements)],
        env=_variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.splitlines()
        if any("unexpected argument" in line for line in lines):
            raise NotAvailable(f"this uv is too old to lock packages: {lines[0]}; {INSTALL} anew")
        reason = installer.uv_failure(lines).rstrip(".")
        raise NotAvailable(f"{request.requirements} cannot be locked: {reason}")


def _variables() -> dict[str, str]:
    """The variables of this process, and in them what pip is set to, which uv does not read."""
    own = pod_environment.inherited_environment(*pod_environment.INSTALLERS)
    settings = pip_settings.pip_variables(own)
    if find_spec("pip") is not None:
        asked = [sys.executable, *pip_settings.LIST]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        settings = pip_settings.pip_settings(said.splitlines())
    return {**own, **pip_settings.for_uv(settings, own)}
