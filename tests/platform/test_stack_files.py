"""The program of stacks/platform with each of its files: what would be deployed, without a cluster."""

import json
import runpy
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from tests.platform.declared_resources import DeclaredResource, declared_resources

pytestmark = pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")

FOLDER = Path(__file__).resolve().parents[2] / "stacks" / "platform"
FILES = sorted(FOLDER.glob("Pulumi.*.yaml"))


def stack_file(file: Path) -> None:
    """The program as the stack of a file runs it."""
    settings: dict[str, Any] = yaml.safe_load(file.read_text())["config"]
    texts = {key: each if isinstance(each, str) else json.dumps(each)
             for key, each in settings.items()}  # fmt: skip
    pulumi.runtime.set_all_config(texts)
    runpy.run_path(str(FOLDER / "__main__.py"))


def declared(file: Path) -> list[DeclaredResource]:
    return list(declared_resources(partial(stack_file, file)))


def components(made: list[DeclaredResource]) -> set[str]:
    kinds = (each.kind.removeprefix("trainer:index:") for each in made)
    return {each for each in kinds if ":" not in each}


PARTS = {
    "dev": {"JobSetController", "TrainerControlPlane", "Kueue"},
    "full": {"Coscheduling", "LeaderWorkerSetController", "Kueue"},
    "production": {"Coscheduling", "LeaderWorkerSetController", "Kueue", "GpuNodePool"},
    "single-node": {"JobSetController", "Kueue", "GpuNodePool"},
    "volcano": {"JobSetController", "TrainerControlPlane", "Volcano"},
}


@pytest.mark.parametrize("file", FILES, ids=lambda each: each.name.split(".")[1])
def test_a_file_declares_its_platform(file: Path) -> None:
    made = declared(file)
    assert components(made) >= PARTS[file.name.split(".")[1]] | {"TrainerPlatform"}
    names = [(each.kind, each.name) for each in made]
    assert len(set(names)) == len(names)
    settings = yaml.safe_load(file.read_text())["config"]
    assert settings["kubernetes:upsertExistingObjects"] == "true"


def test_the_guard_of_production_goes_before_its_pools() -> None:
    made = declared(FOLDER / "Pulumi.production.yaml")
    guards = [each for each in made if each.kind.endswith(":DestroyGuard")]
    objects = {each.urn for each in made
               if each.kind.startswith("kubernetes:")
               and each.kind.endswith((":NodePool", ":ResourceFlavor"))}  # fmt: skip
    assert len(objects) >= 4
    assert any(objects <= each.dependencies for each in guards)
