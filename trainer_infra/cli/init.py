"""`trainer-infra init`: a Pulumi project that trains, and its stack `dev`.

What stands against it is found before anything is written; the stack is made next, and the program
only once there is one. The files of `starter` are copied as they are.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Final

import typer

from trainer_infra.api import yamltext
from trainer_infra.cli.options import StarterRequest, TargetName
from trainer_infra.deploy import backend
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.in_pod import own_place

STACK: Final = "dev"
SETTINGS: Final = f"Pulumi.{STACK}.yaml"
STARTER: Final = Path(__file__).parent / "starter"
PROGRAM: Final = ("__main__.py", "train.py")
"""Of `starter`."""
ENVIRONMENT: Final = ".venv"
PASSPHRASE: Final = "PULUMI_CONFIG_PASSPHRASE"  # noqa: S105  a variable of that name
EXTRA: Final = "pulumi"
"""What the program needs of this package."""

_PROJECT: Final = """\
{name}
description: Trains a model with trainer-infra.
runtime:
  name: python
{options}backend:
  url: file://~ # the state of its stacks is in your home folder
"""
_EMPTY: Final = """\
# The passphrase of this stack is empty: anyone with this file can read the secrets in it. Before you
# store one, run `pulumi stack change-secrets-provider passphrase`.
"""


@dataclass(frozen=True, slots=True)
class StarterEnvironment:
    """The Python that runs the program: the one that runs this command."""

    option: str | None
    """`virtualenv` of Pulumi.yaml; None for the Python of PATH, where this is not a virtual environment."""
    linked: Path | None
    """What `option` becomes a link to; None where the environment is in the project's folder."""


def create(wanted: StarterRequest) -> None:
    """Make the project and its stack, and say what to do next.

    Raises:
        NotAvailable: Pulumi is missing, or does not make the stack; nothing is left behind.
        Refused: The folder has a project, or another environment; nothing was written.
    """
    pulumi, requirement = _pulumi(), _requirement(wanted)
    folder = Path(wanted.directory).resolve()
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is a file; name a folder, which need not exist")
    files = (*backend.PROJECT_FILES, SETTINGS, *PROGRAM)
    if there := [each for each in files if (folder / each).exists()]:
        begin = f"; begin its stack with `pulumi stack init {STACK}` and `pulumi up`, or"
        known = begin if set(there) & set(backend.PROJECT_FILES) else ";"
        raise Refused(
            f"{folder} has {', '.join(there)} already, and nothing was written{known} make another "
            "project in a new folder: `trainer-infra init NAME`"
        )
    environment = _environment(folder)
    name = wanted.name or re.sub("[^A-Za-z0-9_.-]+", "-", folder.name).strip("-") or "training"
    try:
        _make_stack(pulumi, folder, _settled(wanted, name, environment))
        for each in PROGRAM:
            shutil.copyfile(STARTER / each, folder / each)
        _add_lines(folder / "requirements.txt", (requirement,))
        _add_lines(folder / ".gitignore", (ENVIRONMENT, "__pycache__/"))
        if environment.linked:
            (folder / ENVIRONMENT).symlink_to(environment.linked)
    except OSError as error:
        raise NotAvailable(f"{error.filename} cannot be written: {error.strerror}") from None
    typer.echo(f"created project {name} in {folder}:")
    typer.echo("\n".join(_listed(wanted, environment, requirement)))
    typer.echo("\n".join(["next:", *(f"  {each}" for each in _next(folder))]))


def _pulumi() -> str:
    """The Pulumi command: of PATH, else beside the Python that runs this."""
    if util.find_spec("pulumi") is None:
        raise NotAvailable(
            f"the program needs the package pulumi, which {sys.prefix} does not have; run "
            f"`{own_place.install_command(EXTRA, f'{shlex.quote(sys.executable)} -m pip')}`, and this again"
        )
    beside = str(Path(sys.executable).parent)
    found = shutil.which("pulumi") or shutil.which("pulumi", path=beside)
    if found is None:
        raise NotAvailable(
            "there is no `pulumi` command on PATH; install the Pulumi CLI "
            "(https://www.pulumi.com/docs/install), and run this again"
        )
    return found


def _environment(folder: Path) -> StarterEnvironment:
    own, place = Path(sys.prefix).resolve(), folder / ENVIRONMENT
    if sys.prefix == sys.base_prefix:
        return StarterEnvironment(None, None)
    if place.resolve() == own:
        return StarterEnvironment(ENVIRONMENT, None)
    if own.is_relative_to(folder):
        return StarterEnvironment(str(own.relative_to(folder)), None)
    if place.exists() or place.is_symlink():
        raise Refused(
            f"{place} is not the environment that runs this command ({own}), and nothing was written; "
            f"run `{own_place.install_command(EXTRA, f'{place}/bin/python -m pip')}` and then "
            f"{place}/bin/trainer-infra, or remove it"
        )
    return StarterEnvironment(ENVIRONMENT, own)


def _settled(
    wanted: StarterRequest, name: str, environment: StarterEnvironment
) -> Mapping[str, str]:
    """The files that the Pulumi command reads, by name."""
    options = ""
    if environment.option:
        options = f"  options:\n    {_pair('virtualenv', environment.option)}\n"
    lines = [f"  trainer:target: {wanted.place}"]
    if wanted.context:
        lines.append(f"  {_pair('trainer:context', wanted.context)}")
    # The variable comes before the file, also where it is empty.
    head = _EMPTY if _unset() or os.environ.get(PASSPHRASE) == "" else ""
    return {
        "Pulumi.yaml": _PROJECT.format(name=_pair("name", name), options=options),
        SETTINGS: "\n".join([f"{head}config:", *lines, ""]),
    }


def _pair(key: str, text: str) -> str:
    """A line of YAML, also of a folder that is called 2026 or `a: b`."""
    return yamltext.dump_yaml([{key: text}]).strip()


def _unset() -> bool:
    """Whether Pulumi finds no passphrase, and so would ask for one."""
    return PASSPHRASE not in os.environ and not os.environ.get(f"{PASSPHRASE}_FILE")


def _make_stack(pulumi: str, folder: Path, files: Mapping[str, str]) -> None:
    """Write the files and let Pulumi make the stack of them; take them away where it does not."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    answer = subprocess.run(
        [pulumi, "stack", "init", STACK, "--non-interactive"],
        cwd=folder,
        env={**os.environ, **({PASSPHRASE: ""} if _unset() else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        for name in files:
            (folder / name).unlink()
        for each in made:
            each.rmdir()
        said = (answer.stderr.strip() or answer.stdout.strip()).removeprefix("error: ")
        other = "; name the project otherwise: --name NAME" if "already exists" in said else ""
        raise NotAvailable(
            f"Pulumi did not make stack {STACK}, and nothing was written: {said}{other}"
        )


def _requirement(wanted: StarterRequest) -> str:
    """What installs this package in another environment.

    Raises:
        Refused: What the user names is not a place of it.
    """
    if wanted.package is None:
        return own_place.requirement(EXTRA)
    try:
        return own_place.place_requirement(wanted.package, EXTRA)
    except ValueError:
        raise Refused(
            f"--package {wanted.package} is not a folder or file here, and no URL, and nothing was written; "
            "write a path, or a URL such as git+https://HOST/REPOSITORY@COMMIT"
        ) from None


def _add_lines(file: Path, lines: Sequence[str]) -> None:
    """Add what a file does not have yet; a new repository often has one."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    missing = [each for each in lines if each not in text.splitlines()]
    end = "" if not text or text.endswith("\n") else "\n"
    file.write_text(text + end + "".join(f"{each}\n" for each in missing), encoding="utf-8")


def _listed(
    wanted: StarterRequest, environment: StarterEnvironment, requirement: str
) -> Iterator[str]:
    """Each file with what it is."""
    where = "this machine" if wanted.place is TargetName.LOCAL else "Kubernetes"
    yield "  __main__.py       the program: a TrainJob"
    yield "  train.py          what it trains"
    yield "  Pulumi.yaml       the project"
    yield f"  {SETTINGS}   its stack {STACK}, which trains on {where}"
    yield "  requirements.txt  what the program needs"
    if "@ file://" in requirement:
        yield (
            f"                    it has {requirement.partition('@ ')[2]}, of this machine: write the "
            "URL of its repository before a colleague needs it, or give --package URL"
        )
    yield "  .gitignore"
    if environment.linked:
        yield f"  {ENVIRONMENT}             a link to {environment.linked}"


def _next(folder: Path) -> Iterator[str]:
    """The commands to a trained model, in this shell."""
    if folder != Path.cwd():
        yield f"cd {shlex.quote(os.path.relpath(folder))}"
    if shutil.which("pulumi") is None:
        yield f". {shlex.quote(str(Path(sys.prefix) / 'bin' / 'activate'))}"
    if _unset():
        yield f'export {PASSPHRASE}=""  # or press Enter when Pulumi asks for it'
    yield "pulumi up"
