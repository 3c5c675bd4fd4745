"""A real S3 server, and a bucket of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import versitygw
from from_source.cluster.versitygw import S3Server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with versitygw.running(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def bucket(s3: S3Server) -> Iterator[Path]:
    """A bucket of one test."""
    folder = s3.buckets / "checkpoints"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)
