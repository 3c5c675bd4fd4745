"""The image of the initializers, as images/initializer/Dockerfile makes it, over the base of the tests."""

from typing import Final

from from_source.cluster.package_image import PackageImage
from trainer_infra.catalog import initializers

IMAGE: Final = PackageImage(
    "initializer",
    initializers.IMAGE,
    ("python3", "-m", "trainer_infra.in_pod.initializers"),
    env=("HF_HOME=/tmp/huggingface", "HF_HUB_DISABLE_TELEMETRY=1"),
)
