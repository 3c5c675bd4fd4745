"""What the stacks of the nearest Pulumi program say about where their runs live.

Reads the files that the Pulumi command keeps: `Pulumi.yaml`, `Pulumi.<stack>.yaml` and its own note
of the selected stack; the command itself runs only to open a secret value. Pulumi's library is
never imported.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer_infra.deploy import backend
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject

KEYS: Final = ("target", "engine", "kubeconfig", "context", "namespace", "allowDestroy")
"""Of the namespace `trainer` (design "Targets and engines")."""
_SHARED: Final = ("kubeconfig", "context")
"""Keys that Pulumi's Kubernetes provider has too: where ours say nothing, its own say which cluster."""


@dataclass(frozen=True, slots=True)
class Project:
    """A Pulumi program."""

    file: Path
    """Its `Pulumi.yaml`, absolute."""
    name: str
    """Of the project."""
    content: JSONObject
    """What the file says."""

    @property
    def folder(self) -> Path:
        """Where the command runs."""
        return self.file.parent


@dataclass(frozen=True, slots=True)
class Settings:
    """What one stack says, `KEYS` only."""

    project: Project
    """The stack's."""
    stack: str
    """Its name, without organization and project."""
    values: JSONObject
    """As the files have them: a secret is a mapping with `secure`."""
    file: Path | None = None
    """The file of its settings where the command names another one than its own."""
    of_kubernetes: frozenset[str] = frozenset()
    """Keys whose value is that of Pulumi's Kubernetes provider."""

    def get(self, key: str) -> str | None:
        """A value as text, a secret opened by the Pulumi command; None when it is not set.

        Raises:
            NotAvailable: The secret cannot be opened.
        """
        value = self.values.get(key)
        if isinstance(value, Mapping):
            full = f"{'kubernetes' if key in self.of_kubernetes else 'trainer'}:{key}"
            asked = ["config", "get", full, "--stack", self.stack]
            asked += ["--config-file", str(self.file)] if self.file else []
            return run_pulumi(self.project, asked, f"the secret {full} of stack {self.stack}")
        return None if value is None else str(value)


def nearest_program(folder: Path) -> Project | None:
    """The program that a folder is in; None when it is in none."""
    file = next(backend.project_files(folder), None)
    if file is None:
        return None
    content = backend.read_settings(file)
    return Project(file, str(content.get("name")), content)


def chosen_stack(project: Project) -> tuple[Settings, ...]:
    """The selected stack's settings; where none is selected, those of every stack with a file."""
    selected = os.environ.get("PULUMI_STACK") or _selected(project)
    if selected:
        return (of_stack(project, selected.rpartition("/")[2]),)
    suffix = project.file.suffix
    found = sorted(_place(project).glob(f"Pulumi.*{suffix}"))
    stacks = (each.name.removeprefix("Pulumi.").removesuffix(suffix) for each in found)
    return tuple(of_stack(project, each) for each in stacks)


def of_stack(project: Project, stack: str, named: Path | None = None) -> Settings:
    """The settings of one stack, of its own file, or of the one named, and else of the project's."""
    file = named or _place(project) / f"Pulumi.{stack}{project.file.suffix}"
    own = (backend.read_settings(file).get("config") or {}) if file.is_file() else {}
    declared = project.content.get("config")
    defaults = declared if isinstance(declared, Mapping) else {}
    found = {key: _value(own, defaults, f"trainer:{key}") for key in KEYS}
    others = {key: _value(own, defaults, f"kubernetes:{key}") for key in _SHARED}
    # As one: a context belongs to its kubeconfig.
    shared = {} if any(found[key] is not None for key in _SHARED) else others
    values = {key: each for key, each in (found | shared).items() if each is not None}
    return Settings(project, stack, values, named, frozenset(shared))


def run_pulumi(project: Project, arguments: Sequence[str], what: str) -> str:
    """What the Pulumi command answers about a program; `what` is read with it, in the words of an error.

    Raises:
        NotAvailable: There is no such command, or it says no.
    """
    program = shutil.which("pulumi")
    if program is None:
        raise NotAvailable(
            f"reading {what} needs the `pulumi` command, which is not on PATH: activate the "
            "virtual environment of `make setup`, or install Pulumi"
        )
    done = subprocess.run(
        [program, *arguments, "--non-interactive"],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise NotAvailable(f"{what} cannot be read: {said}")
    return done.stdout.removesuffix("\n")


def _place(project: Project) -> Path:
    """The folder of the stacks' files; an older project names it `config`."""
    named = project.content.get("stackConfigDir") or project.content.get("config")
    return project.folder / named if isinstance(named, str) else project.folder


def _value(own: JSONObject, defaults: JSONObject, key: str) -> Any:
    """What a stack says, else its project for all of its stacks: a value, or a declaration with one."""
    if key in own:
        return own[key]
    said = defaults.get(key)
    return said.get("value", said.get("default")) if isinstance(said, Mapping) else said


def _selected(project: Project) -> str:
    """The stack of the last `pulumi stack select` there; empty where there was none."""
    digest = hashlib.sha1(str(project.file).encode(), usedforsecurity=False).hexdigest()
    note = (
        backend.pulumi_home(os.environ) / "workspaces" / f"{project.name}-{digest}-workspace.json"
    )
    if not note.is_file():
        return ""
    content = json.loads(note.read_text(encoding="utf-8"))
    by_backend, used = content.get("stacks") or {}, backend.backend_url(os.environ, project.content)
    if not used and len(by_backend) == 1:
        return str(next(iter(by_backend.values())))
    return str(by_backend.get(used) or content.get("stack") or "")
