"""What the tests of this folder share: real servers, and a volume."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import distribution, versitygw
from from_source.cluster.distribution import Registry
from from_source.cluster.versitygw import S3Server
from tests.in_pod.initializers.hub import Hub
from tests.in_pod.initializers.initializer_process import Initializer


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with versitygw.running(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with distribution.running(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture
def bucket(s3: S3Server, tmp_path: Path) -> Iterator[Path]:
    """A bucket of one test; its name is that of the folder. Pytest would keep it, and some are large."""
    folder = s3.buckets / f"test-{tmp_path.name.replace('_', '-').lower()}"[:60].strip("-")
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def dataset(s3: S3Server, bucket: Path, tmp_path: Path) -> Iterator[Initializer]:
    """A dataset initializer for that bucket."""
    volume = tmp_path / "volume"
    yield Initializer(volume, {**s3.environment, "STORAGE_URI": f"s3://{bucket.name}"})
    shutil.rmtree(volume, ignore_errors=True)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        yield server
