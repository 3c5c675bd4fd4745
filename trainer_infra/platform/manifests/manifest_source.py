"""Where a component's objects come from: the release that we pin, or what the program gives instead."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urldefrag

from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.home_folders import cache_home
from trainer_infra.json_values import JSONObject
from trainer_infra.local.run_folder import write_json
from trainer_infra.platform.manifests.helm_chart import installed_objects
from trainer_infra.platform.manifests.manifest_text import objects_of_text
from trainer_infra.platform.manifests.release_files import PATIENCE, release_folder
from trainer_infra.platform.releases import Release

_BUILDERS: Final = (
    ("kustomize", "build", "--load-restrictor=LoadRestrictionsNone"),
    ("kubectl", "kustomize", "--load-restrictor=LoadRestrictionsNone"),
)
"""Programs that build one; the first on PATH is taken. Ours names files beside its own folder."""
_FORM: Final = "1"
"""Of what is kept; a change makes what earlier releases kept another's."""
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_HASH: Final = "sha256="


def release_objects(release: Release) -> tuple[JSONObject, ...]:
    """The objects of a release.

    Raises:
        NotAvailable: Its manifests cannot be fetched or built.
    """
    folder = release_folder(release)
    objects = _kustomized_objects(folder, release.kustomization)
    if release.chart is None:
        return objects
    chart = replace(release.chart, reference=str(folder / release.chart.reference))
    return (*objects, *installed_objects(chart))


def manifest_objects(source: str) -> tuple[JSONObject, ...]:
    """The objects of manifests that a program names.

    A file, a folder of files, a folder with a kustomization, or `https://HOST/PATH#sha256=HASH`.

    Raises:
        InvalidInput: It is not one of these, or not what the hash says.
        NotAvailable: It cannot be fetched or built.
    """
    if "://" in source:
        return objects_of_text(_page(source), source)
    path = Path(source).expanduser()
    if path.is_file():
        return objects_of_text(path.read_text("utf-8"), source)
    if (path / "kustomization.yaml").is_file():
        return objects_of_text(_run(path), str(path))
    files = sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES)
    if not files:
        what = "is not a file, and no folder with manifests"
        raise InvalidInput([Problem("manifests", what, got=source)])
    return tuple(
        each for file in files for each in objects_of_text(file.read_text("utf-8"), str(file))
    )


def _page(source: str) -> str:
    url, fragment = urldefrag(source)
    if not url.startswith("https://") or not fragment.startswith(_HASH):
        what, fix = "must be https and name its hash", "write https://HOST/PATH#sha256=HASH"
        raise InvalidInput([Problem("manifests", what, got=source, fix=fix)])
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310  https
            content: bytes = answer.read()
    except OSError as error:
        raise NotAvailable(f"manifests: {url}: {error}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != fragment.removeprefix(_HASH):
        what = f"has the hash {found}, not the one that the program names"
        raise InvalidInput([Problem("manifests", what, got=source)])
    return content.decode()


def _kustomized_objects(folder: Path, kustomization: JSONObject) -> tuple[JSONObject, ...]:
    """The objects of a kustomization over files in a folder named by their digest; kept in the cache.

    Raises:
        NotAvailable: No program is there that builds one, or it refuses this one.
    """
    wanted = json.dumps([_FORM, folder.name, kustomization], sort_keys=True)
    name = hashlib.sha256(wanted.encode()).hexdigest()[:16]
    cache = cache_home() / "manifests" / f"{folder.name}-{name}.json"
    if not cache.exists():
        with tempfile.TemporaryDirectory() as made:
            place = Path(made).resolve()
            paths = [os.path.relpath(folder / each, place) for each in kustomization["resources"]]
            # JSON is YAML.
            text = json.dumps({**kustomization, "resources": paths})
            (place / "kustomization.yaml").write_text(text, "utf-8")
            write_json(cache, objects_of_text(_run(place), folder.name))
    objects: list[JSONObject] = json.loads(cache.read_bytes())
    return tuple(objects)


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
