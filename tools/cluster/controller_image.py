"""The image of our own controller, as images/controller/Dockerfile makes it, over the base of the tests.

Called by equipment.py and by tests of the platform. What it installs is the lock of that folder and a
wheel of this checkout; a change of either makes another image.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.cluster import base_image, build, images, python
from trainer_infra.errors import NotAvailable
from trainer_infra.platform import builtin_control_plane

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = ROOT / "images" / "controller" / "requirements.lock"
_PLACE: Final = "opt/trainer-infra"
_CONFIG: Final = {
    "User": "65532:65532",
    "Entrypoint": ["python3", "-m", "trainer_infra.cli", "controller"],
    "Env": [
        "PATH=/usr/local/bin:/usr/bin:/bin",
        f"PYTHONPATH=/{_PLACE}",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONUNBUFFERED=1",
    ],
}


def loaded() -> str:
    """The image's name, once it is in the cluster of `make cluster`.

    Raises:
        NotAvailable: There is no such cluster, or the image cannot be made here.
    """
    return images.loaded(builtin_control_plane.image(), archive())


def archive() -> Path:
    """The image as a file, made where it is missing.

    Raises:
        NotAvailable: pip fails, or the base cannot be made here.
    """
    folder = build.cache() / "controller"
    file = folder / f"image-{_digest([LOCK, *_sources()])}.tar"
    if not file.exists():
        with build.alone("controller-image"):
            for old in folder.glob("image-*"):
                old.unlink()
            with tempfile.TemporaryDirectory(dir=build.cache()) as scratch:
                layer = Path(scratch) / "layer"
                shutil.copytree(_packages(), layer / _PLACE)
                _install(layer / _PLACE, "--no-build-isolation", _source(Path(scratch)))
                name = builtin_control_plane.image()
                images.archive(file, name, base_image.layer(), layer, config=_CONFIG)
    return file


def _packages() -> Path:
    """What the controller needs besides this package; kept while the lock is the same."""
    folder = build.cache() / "python" / f"controller-{_digest([LOCK])}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=build.cache()) as scratch:
            made = Path(scratch) / "packages"
            wheels = ("--python-version", python.PYTHON, "--only-binary=:all:")
            _install(made, *wheels, "--require-hashes", "-r", str(LOCK))
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


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for each in (Path(__file__), ROOT / "pyproject.toml", *files):
        digest.update(str(each.relative_to(ROOT)).encode() + b"\0" + each.read_bytes())
    return digest.hexdigest()[:12]


def _install(target: Path, *arguments: str) -> None:
    quiet = ("--disable-pip-version-check", "--no-input", "--progress-bar=off", "--no-deps")
    command = (sys.executable, "-m", "pip", "install", *quiet, "--target", str(target), *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.splitlines()[-5:])
        raise NotAvailable(f"the controller's image was not made: pip failed:\n{last}")
    for each in (target, *target.rglob("*")):
        each.chmod(0o755 if each.is_dir() else 0o644)
