"""The image of our own controller, as images/controller/Dockerfile makes it, over the base of the tests.

Called by equipment.py and by tests of the platform.
"""

from pathlib import Path
from typing import Final

from tools.cluster import images, package_image
from tools.cluster.package_image import PackageImage
from trainer_infra.platform import builtin_control_plane

IMAGE: Final = PackageImage(
    "controller",
    builtin_control_plane.image(),
    ("python3", "-m", "trainer_infra.cli", "controller"),
    user="65532:65532",
)


def loaded() -> str:
    """The image's name, once it is in the cluster of `make cluster`.

    Raises:
        NotAvailable: There is no such cluster, or the image cannot be made here.
    """
    return images.loaded(IMAGE.name, archive())


def archive() -> Path:
    """The image as a file, made where it is missing.

    Raises:
        NotAvailable: pip fails, or the base cannot be made here.
    """
    return package_image.archive(IMAGE)
