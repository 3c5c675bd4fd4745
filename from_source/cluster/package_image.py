"""Images of this package, as the Dockerfiles of images/ make them, over the base of the tests.

What an image installs is the lock of its folder and a wheel of this checkout; a change of either
makes another image.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster import base_image, build, images, python
from trainer_infra.errors import NotAvailable

ROOT: Final = Path(__file__).resolve().parents[2]
_PLACE: Final = "opt/trainer-infra"
_KEPT: Final = 86400
"""Seconds that images of other versions stay."""
_ENV: Final = (
    "PATH=/usr/local/bin:/usr/bin:/bin",
    f"PYTHONPATH=/{_PLACE}",
    "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONUNBUFFERED=1",
)


@dataclass(frozen=True, slots=True)
class PackageImage:
    """One image."""

    folder: str
    """Of images/, and of the cache."""
    name: str
    """With its tag."""
    entrypoint: Sequence[str]
    user: str = ""
    """`<user>:<group>`; empty for root."""
    env: Sequence[str] = ()
    """`KEY=value`, besides what every one has."""

    @property
    def lock(self) -> Path:
        """What it installs."""
        return ROOT / "images" / self.folder / "requirements.lock"

    @property
    def config(self) -> Mapping[str, Any]:
        """As for `images.archive`."""
        user = {"User": self.user} if self.user else {}
        return {**user, "Entrypoint": list(self.entrypoint), "Env": [*_ENV, *self.env]}


def loaded(image: PackageImage) -> str:
    """The image's name, once it is in the cluster of `make cluster`.

    Raises:
        NotAvailable: There is no such cluster, or the image cannot be made here.
    """
    return images.loaded(image.name, archive(image))


def archive(image: PackageImage) -> Path:
    """The image as a file, made where it is missing.

    Raises:
        NotAvailable: pip fails, or the base cannot be made here.
    """
    folder = build.cache() / image.folder
    file = folder / f"image-{_digest([image.lock, *_sources()], image)}.tar"
    if not file.exists():
        with build.alone(f"{image.folder}-image"):
            if not file.exists():
                _make(image, file)
    return file


def _make(image: PackageImage, file: Path) -> None:
    for old in file.parent.glob("image-*"):
        # Another checkout may be using a new one.
        if time.time() - old.stat().st_mtime > _KEPT:
            old.unlink()
    with tempfile.TemporaryDirectory(dir=build.cache()) as scratch:
        layer = Path(scratch) / "layer"
        shutil.copytree(packages(image), layer / _PLACE)
        _install(layer / _PLACE, "--no-build-isolation", _source(Path(scratch)))
        images.archive(file, image.name, base_image.layer(), layer, config=image.config)


def packages(image: PackageImage) -> Path:
    """A folder with what it needs besides this package; kept while the lock is the same.

    Raises:
        NotAvailable: pip fails.
    """
    folder = build.cache() / "python" / f"{image.folder}-{_digest([image.lock], image)}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=build.cache()) as scratch:
            made = Path(scratch) / "packages"
            wheels = ("--python-version", python.PYTHON, "--only-binary=:all:")
            _install(made, *wheels, "--require-hashes", "-r", str(image.lock))
            folder.parent.mkdir(exist_ok=True)
            made.rename(folder)
    return folder


def _source(scratch: Path) -> str:
    """The package's own files in a folder that a build may write into."""
    copy = scratch / "source"
    copy.mkdir()
    for each in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / each, copy)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "trainer_infra", copy / "trainer_infra", ignore=ignored)
    return str(copy)


def _sources() -> list[Path]:
    files = (ROOT / "trainer_infra").rglob("*")
    return sorted(each for each in files if each.is_file() and "__pycache__" not in each.parts)


def _digest(files: list[Path], image: PackageImage) -> str:
    digest = hashlib.sha256(repr(image).encode())
    for each in (Path(__file__), ROOT / "pyproject.toml", *files):
        digest.update(str(each.relative_to(ROOT)).encode() + b"\0" + each.read_bytes())
    return digest.hexdigest()[:12]


def _install(target: Path, *arguments: str) -> None:
    quiet = (*python.QUIET, "--no-deps")
    command = (sys.executable, "-m", "pip", "install", *quiet, "--target", str(target), *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-5:])
        raise NotAvailable(f"an image of trainer_infra was not made: pip failed:\n{last}")
    for each in (target, *target.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)
