"""Trainer v2.3: Kubeflow's own controller manager as an image, of its published module.

equipment.py makes it before tests of the platform start; its manifests are the platform's affair. The
release before it is there for tests of an upgrade.
"""

from pathlib import Path
from typing import Final

from from_source.cluster import build, images
from from_source.cluster.build import Program

MODULE: Final = ("github.com/kubeflow/trainer/v2", "v2.3.0")
"""Module and version of what is built."""
TRAINER: Final = Program("trainer", "trainer", f"{MODULE[0]}/cmd/trainer-controller-manager")
"""What is built."""
_PUBLISHED: Final = "ghcr.io/kubeflow/trainer/trainer-controller-manager"
IMAGE: Final = f"{_PUBLISHED}:{MODULE[1]}"
"""The published name of its image."""
BEFORE: Final = Program("trainer", "trainer_2_2", f"{MODULE[0]}/cmd/trainer-controller-manager")
"""The same of the release before."""
IMAGE_BEFORE: Final = f"{_PUBLISHED}:v2.2.1"


def archive() -> Path:
    """The image's archive, made once."""
    return images.of_program(IMAGE, build.built(TRAINER), "manager", images.MANAGER)


def archive_before() -> Path:
    """That of the release before."""
    return images.of_program(IMAGE_BEFORE, build.built(BEFORE), "manager", images.MANAGER)
