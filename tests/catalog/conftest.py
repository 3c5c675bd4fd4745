"""The manifests that the reference installs, read from its published Go module."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import schemas


@pytest.fixture(scope="session")
def reference_module() -> Path:
    """The module's folder."""
    return schemas.module_folder(*schemas.TRAINER)


@pytest.fixture(scope="session")
def installed(reference_module: Path) -> dict[str, Any]:
    """Its ClusterTrainingRuntimes by name, with the image tags that its overlays set."""
    manifests = reference_module / "manifests"
    tags = {
        image["name"]: image["newTag"]
        for overlay in ("runtimes", "data-cache")
        for image in _read(manifests / "overlays" / overlay / "kustomization.yaml")["images"]
    }
    objects = [_read(path) for path in sorted((manifests / "base" / "runtimes").rglob("*.yaml"))]
    return {
        each["metadata"]["name"]: _tagged(each, tags)
        for each in objects
        if each["kind"] == "ClusterTrainingRuntime"
    }


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def _tagged(value: Any, tags: dict[str, str]) -> Any:
    """What kustomize does with `images`."""
    if isinstance(value, list):
        return [_tagged(each, tags) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {key: _tagged(each, tags) for key, each in value.items()}
    if changed.get("image") in tags:
        changed["image"] = f"{changed['image']}:{tags[changed['image']]}"
    return changed
