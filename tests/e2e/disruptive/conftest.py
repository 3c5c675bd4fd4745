"""What files of this folder share: Kueue in the cluster, until the last of them or one that needs it away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import kueue


@pytest.fixture(scope="session")
def installed(kubeconfig: Path) -> Iterator[Path]:
    """The cluster while Kueue is in it."""
    kueue.install(kubeconfig)
    yield kubeconfig
    kueue.remove(kubeconfig)
