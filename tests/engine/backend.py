"""Stacks as the files that keep them: their state, and their settings beside the program."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tests.engine import state, values
from tests.engine.state import Resource
from tests.engine.values import Properties


@dataclass(frozen=True)
class StackFiles:
    """One stack of the program of a folder."""

    folder: Path
    """Of the project."""
    name: str
    """Of the stack."""
    backend: Path
    """The folder that keeps all stacks."""

    @cached_property
    def project(self) -> Mapping[str, Any]:
        """What `Pulumi.yaml` says."""
        found: Mapping[str, Any] = yaml.safe_load((self.folder / "Pulumi.yaml").read_text())
        return found

    @property
    def state(self) -> Path:
        """The file of its state."""
        return _state(self.backend, str(self.project["name"]), self.name)

    @property
    def settings(self) -> Path:
        """The file of its settings."""
        return self.folder / f"Pulumi.{self.name}.yaml"

    @property
    def place(self) -> str:
        """The beginning of the URNs of its resources."""
        return f"urn:pulumi:{self.name}::{self.project['name']}"

    @property
    def program(self) -> Path:
        """The folder of the program."""
        return self.folder / str(self.project.get("main", "."))

    def config(self) -> Properties:
        """The settings, by full names; secret ones marked."""
        given = self.project.get("config") or {}
        defaults = {self._full(key): _default(each) for key, each in given.items()}
        own = {key: _setting(each) for key, each in self._own().get("config", {}).items()}
        return {key: each for key, each in (defaults | own).items() if each is not None}

    def set(self, key: str, value: str | None, *, secret: bool = False) -> None:
        """Set a setting, or take it away."""
        content = self._own()
        config = content.setdefault("config", {})
        if value is None:
            config.pop(self._full(key), None)
        else:
            config[self._full(key)] = {"secure": values.encrypted(value)} if secret else value
        self.settings.write_text(yaml.safe_dump(content))

    def make(self) -> None:
        """Make the stack, and a backend where there is none."""
        self.state.parent.mkdir(parents=True, exist_ok=True)
        (self.state.parents[2] / "meta.yaml").write_text("version: 1\n")
        assert not self.state.exists(), f"stack {self.name} exists"
        state.write_deployment(self.state, [])

    def _full(self, key: str) -> str:
        return key if ":" in key else f"{self.project['name']}:{key}"

    def _own(self) -> dict[str, Any]:
        return yaml.safe_load(self.settings.read_text()) or {} if self.settings.exists() else {}


def backend_of(env: Mapping[str, str]) -> Path:
    """The folder of the backend that an environment names."""
    return Path(env["PULUMI_BACKEND_URL"].removeprefix("file://"))


def resources(backend: Path, project: str, stack: str) -> list[Resource]:
    """The resources of any stack of a backend."""
    found = state.deployment(_state(backend, project, stack)).get("resources", ())
    return [state.imported(each) for each in found]


def _state(backend: Path, project: str, stack: str) -> Path:
    return backend / ".pulumi" / "stacks" / project / f"{stack}.json"


def _default(given: Any) -> Any:
    """The value that a project gives a setting of its stacks."""
    return given.get("value", given.get("default")) if isinstance(given, Mapping) else given


def _setting(given: Any) -> Any:
    """A setting as providers and programs get it: a text, which is JSON where it has structure."""
    if isinstance(given, Mapping) and set(given) == {"secure"}:
        return values.secret(values.decrypted(given["secure"]))
    return given if isinstance(given, str) else json.dumps(given)
