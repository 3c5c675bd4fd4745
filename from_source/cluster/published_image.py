"""An image that stands in for published ones of runtimes, as a closed network has them: pip finds wheels in it.

It is base_image.py with the packages that examples install, as wheels, and under the names of the
catalog's images: a program that says nothing of images then trains as it is.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from from_source.cluster import base_image, build, images, python
from trainer_infra import catalog
from trainer_infra.errors import NotAvailable
from trainer_infra.platform import catalog_content

NAME: Final = "trainer-infra.local/published:1"
"""What it is called besides."""

WHEELS: Final = tuple(python.ENVIRONMENTS[name] for name in ("jax", "mpi", "xgboost"))
"""What pip finds; torch is left out, it has gigabytes."""

_FOLDER: Final = "opt/wheels"
_SETTINGS: Final = f"[global]\nno-index = true\nfind-links = /{_FOLDER}\n"
"""Of pip, for all users of the image."""


def loaded(*runtimes: str) -> None:
    """Put it into the cluster of `make cluster` under the names of what these runtimes run.

    Args:
        runtimes: names of the catalog.

    Raises:
        NotAvailable: There is no such cluster, or the image cannot be made here.
    """
    images.loaded(NAME, archive())
    for runtime in runtimes:
        for image in catalog_content.spec_images(catalog.get(runtime).to_wire()["spec"]):
            full = catalog_content.mirrored_image(image, {"docker.io": "docker.io"})
            images.also_named(NAME, full)


def archive() -> Path:
    """The image as a file, made where it is missing.

    Raises:
        NotAvailable: pip fails, or the base cannot be made here.
    """
    base = base_image.archive()
    parts = [base.parent.name, _SETTINGS, python.PYTHON, _requirements()]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    file = build.cache() / "published" / f"image-{key}.tar"
    if not file.exists():
        with build.alone("published-image"):
            if not file.exists():
                _make(file)
    return file


def _make(file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=build.cache()) as scratch:
        layer = Path(scratch)
        (layer / "etc").mkdir()
        (layer / "etc" / "pip.conf").write_text(_SETTINGS, "utf-8")
        _download(_requirements(), layer / _FOLDER)
        shutil.rmtree(file.parent, ignore_errors=True)
        images.archive(file, NAME, base_image.layer(), layer, config=base_image.CONFIG)


def _requirements() -> tuple[str, ...]:
    """Of all of them, for pip to find at once."""
    return tuple(dict.fromkeys(each for packages in WHEELS for each in packages.requirements))


def _download(requirements: tuple[str, ...], folder: Path) -> None:
    quiet = (*python.QUIET, "--quiet")
    binary = ("--python-version", python.PYTHON, "--only-binary=:all:")
    command = (sys.executable, "-m", "pip", "download", *quiet, *binary, "--dest", str(folder))
    done = subprocess.run((*command, *requirements), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-5:])
        raise NotAvailable(f"downloading the wheels of {', '.join(requirements)} failed:\n{last}")
