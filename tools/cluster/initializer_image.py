"""The image of the initializers, as images/initializer/Dockerfile makes it, over the base of the tests.

Called by equipment.py.
"""

from pathlib import Path
from typing import Final

from tools.cluster import images, package_image
from tools.cluster.package_image import PackageImage
from trainer_infra.catalog import initializers

IMAGE: Final = PackageImage(
    "initializer",
    initializers.IMAGE,
    ("python3", "-m", "trainer_infra.in_pod.initializers"),
    env=("HF_HOME=/tmp/huggingface", "HF_HUB_DISABLE_TELEMETRY=1"),
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
