"""The image `busybox`: a shell and small tools in one static program, from Debian.

Loaded by up.py: a pod's sandbox sleeps in it, volumes are made and removed in it, and tests use it.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from from_source.cluster import build, images
from trainer_infra.errors import NotAvailable

IMAGE: Final = "busybox:latest"
"""Its name."""

_PACKAGE: Final = "busybox-static"


def loaded() -> str:
    """Load the image, made once; its name.

    Raises:
        NotAvailable: The package cannot be had.
    """
    archive = build.cache() / "images" / "busybox.tar"
    if not archive.exists():
        with build.alone("busybox"):
            _make(archive)
    return images.loaded(IMAGE, archive)


def _make(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "root"
        for folder in ("bin", "tmp", "etc"):
            (root / folder).mkdir(parents=True)
        shutil.copy(_unpacked(Path(temporary)) / "bin" / "busybox", root / "bin")
        listed = subprocess.run(
            [root / "bin" / "busybox", "--list"], capture_output=True, text=True, check=True
        )
        for name in listed.stdout.split():
            if name != "busybox":
                (root / "bin" / name).symlink_to("busybox")
        (root / "tmp").chmod(0o1777)
        config = {"Env": ["PATH=/bin"], "Cmd": ["sleep", "infinity"]}
        images.archive(archive, IMAGE, root, config=config)


def _unpacked(folder: Path) -> Path:
    """The package's files; it is not installed, where it would replace another busybox."""
    # apt fetches as a user of its own, who may not enter a folder of ours.
    folder.chmod(0o755)
    done = subprocess.run(
        ["apt-get", "download", _PACKAGE], cwd=folder, capture_output=True, text=True, check=False
    )
    found = list(folder.glob(f"{_PACKAGE}_*.deb"))
    if done.returncode != 0 or not found:
        raise NotAvailable(f"the Debian package {_PACKAGE} cannot be had: {done.stderr.strip()}")
    subprocess.run(["dpkg-deb", "--extract", found[0], folder / "unpacked"], check=True)
    return folder / "unpacked"
