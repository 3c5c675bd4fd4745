"""LeaderWorkerSet v0.9: its controller as an image, of its published module.

`make soak` makes it before tests of the platform start; its manifests are the platform's affair.
"""

from pathlib import Path
from typing import Final

from from_source.cluster import build, images
from from_source.cluster.build import Program

MODULE: Final = ("sigs.k8s.io/lws", "v0.9.0")
"""Module and version of what is built."""
LWS: Final = Program("lws", "lws", f"{MODULE[0]}/cmd")
"""What is built."""
IMAGE: Final = f"registry.k8s.io/lws/lws:{MODULE[1]}"
"""The published name of its image."""


def archive() -> Path:
    """The image's archive, made once."""
    return images.of_program(IMAGE, build.built(LWS), "manager", images.MANAGER)
