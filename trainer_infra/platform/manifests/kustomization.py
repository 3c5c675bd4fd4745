"""A kustomization as objects, by the `kubectl` or `kustomize` of this machine."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from trainer_infra.errors import NotAvailable
from trainer_infra.home_folders import cache_home
from trainer_infra.json_values import JSONObject
from trainer_infra.local.run_folder import write_json
from trainer_infra.platform.manifests.manifest_text import objects_of_text

_BUILDERS: Final = (
    ("kustomize", "build", "--load-restrictor=LoadRestrictionsNone"),
    ("kubectl", "kustomize", "--load-restrictor=LoadRestrictionsNone"),
)
"""Programs that build one; the first on PATH is taken. Ours names files beside its own folder."""
_FORM: Final = "1"
"""Of what is kept; a change makes what earlier releases kept another's."""


def kustomized_objects(folder: Path, kustomization: JSONObject) -> tuple[JSONObject, ...]:
    """The objects of a kustomization over files that do not change; kept in the cache.

    Args:
        folder: the files, named by their digest.
        kustomization: what is built; its `resources` are relative to the folder.

    Raises:
        NotAvailable: No program is there that builds one, or it refuses this one.
    """
    wanted = json.dumps([_FORM, folder.name, kustomization], sort_keys=True)
    name = hashlib.sha256(wanted.encode()).hexdigest()[:16]
    cache = cache_home() / "manifests" / f"{folder.name}-{name}.json"
    if not cache.exists():
        write_json(cache, _build(folder, kustomization))
    objects: list[JSONObject] = json.loads(cache.read_bytes())
    return tuple(objects)


def folder_objects(folder: Path) -> tuple[JSONObject, ...]:
    """The objects of a folder that has a kustomization.

    Raises:
        NotAvailable: No program is there that builds one, or it refuses this one.
    """
    return objects_of_text(_run(folder), str(folder))


def _build(folder: Path, kustomization: JSONObject) -> Sequence[JSONObject]:
    with tempfile.TemporaryDirectory() as made:
        place = Path(made).resolve()
        resources = [os.path.relpath(folder / each, place) for each in kustomization["resources"]]
        # JSON is YAML.
        text = json.dumps({**kustomization, "resources": resources})
        (place / "kustomization.yaml").write_text(text, "utf-8")
        return objects_of_text(_run(place), folder.name)


def _run(place: Path) -> str:
    builder = next((each for each in _BUILDERS if shutil.which(each[0])), None)
    if builder is None:
        raise NotAvailable(
            "manifests are a kustomization, and neither `kubectl` nor `kustomize` is on PATH; "
            "install one of them, or give the objects as a file: manifests="
        )
    command = [*builder, str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotAvailable(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout
