"""A Pulumi project of its own per test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.project import Stack, processes_of


@pytest.fixture
def stack(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[Stack]:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: project\nruntime: python\n")
    made = Stack(folder, pulumi_env)
    made.run("stack", "init")
    made.run("config", "set", "trainer:target", "local")
    yield made
    for process in processes_of(tmp_path):
        process.kill()
