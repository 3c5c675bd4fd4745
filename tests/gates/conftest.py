"""A repository that a git server gives, and what the gates find on PATH."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.gates.tampered import GOOD
from tests.trainers import git_server
from tests.trainers.git_server import Repository
from tests.warm_start import Done

POLICY = "pack: training\nrules: {image-registry: {parameters: {allow: [registry.example.com]}}}\n"


@dataclass(frozen=True)
class Place:
    """A repository, its server, and what a gate has around it."""

    repository: Repository
    url: str
    policy: Path
    env: Mapping[str, str]

    def commit(self, files: Mapping[str, str]) -> str:
        """Write files, remove those that are empty, and commit; the commit."""
        self.write(files)
        return self.repository.commit({})

    def write(self, files: Mapping[str, str]) -> None:
        soon = str(date.today() + timedelta(days=30))  # noqa: DTZ011  days away, whatever the zone
        for name, text in files.items():
            file = self.repository.folder / name
            if text:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text.replace("EXPIRES", soon))
            else:
                file.unlink()

    def shell(self, *words: str, folder: Path, **env: str) -> Done:
        """Run a container's command."""
        done = subprocess.run(
            words,
            cwd=folder,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place(tmp_path: Path, kubectl_program: Path, helm_program: Path) -> Iterator[Place]:
    (tmp_path / "policy").mkdir()
    policy = tmp_path / "policy" / "trainer-policy.yaml"
    policy.write_text(POLICY)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, program in (
        ("helm", helm_program),
        ("real-kubectl", kubectl_program),
        ("trainer-infra", Path(sys.executable).parent / "trainer-infra"),
    ):
        (programs / name).symlink_to(program)
    # What the cluster is asked and told; kustomizations are built by the real one.
    kubectl = programs / "kubectl"
    kubectl.write_text(
        "#!/bin/sh\n"
        'case "$1" in kustomize) exec real-kubectl "$@" ;; esac\n'
        f'echo "$@" >> {tmp_path / "asked"}\n'
    )
    kubectl.chmod(0o755)
    repository = git_server.new_repository(tmp_path / "served" / "training")
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **git_server.AUTHOR,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "NO_COLOR": "1",
        "PATH": f"{programs}{os.pathsep}/usr/bin:/bin",
    }
    with git_server.serving(tmp_path / "served") as (url, _):
        there = Place(repository, f"{url}/training/.git", policy, env)
        there.commit(GOOD)
        yield there
