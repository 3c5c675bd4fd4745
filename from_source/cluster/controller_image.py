"""The image of our own controller, as images/controller/Dockerfile makes it, over the base of the tests."""

from typing import Final

from from_source.cluster.package_image import PackageImage
from trainer_infra.platform import builtin_control_plane

IMAGE: Final = PackageImage(
    "controller",
    builtin_control_plane.image(),
    ("python3", "-m", "trainer_infra.cli", "controller"),
    user="65532:65532",
)
