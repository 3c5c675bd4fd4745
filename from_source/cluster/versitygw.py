"""A real S3 server over a folder, built of its published module."""

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from from_source.cluster import build
from from_source.cluster.build import Program
from from_source.cluster.process import Process
from trainer_infra.local.network import reserved_port

VERSITYGW: Final = Program("versitygw", "versitygw", "github.com/versity/versitygw/cmd/versitygw")
"""What is built."""
REGION: Final = "us-east-1"


def program() -> str:
    """Its file, built where it is missing.

    Raises:
        NotAvailable: It cannot be built here.
    """
    return str(build.built(VERSITYGW))


@dataclass(frozen=True, slots=True)
class S3Server:
    """One that runs. A folder in `buckets` is a bucket, and a file in it is an object, without an ETag."""

    url: str
    buckets: Path
    access_key: str = "tester"
    secret_key: str = "not-a-secret-key"  # noqa: S105  of a server that only this machine reaches

    @property
    def environment(self) -> dict[str, str]:
        """Variables of an initializer."""
        return {
            "ENDPOINT": self.url,
            "ACCESS_KEY_ID": self.access_key,
            "SECRET_ACCESS_KEY": self.secret_key,
            "REGION": REGION,
        }

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/health") as answer:  # noqa: S310  our own
                return bool(answer.status == 200)  # noqa: PLR2004  HTTP's OK
        except OSError:
            return False


@contextmanager
def running(folder: Path) -> Iterator[S3Server]:
    """Serve a folder's `buckets`, which is made, on a free port of this machine.

    Raises:
        NotAvailable: It cannot be built or does not come up.
    """
    buckets, metadata = folder / "buckets", folder / "metadata"
    for each in (buckets, metadata):
        each.mkdir()
    with reserved_port() as port:
        address = f"127.0.0.1:{port}"
    made = S3Server(f"http://{address}", buckets)
    keys = ("--access", made.access_key, "--secret", made.secret_key)
    options = ("--port", address, "--region", REGION, "--health", "/health", "--quiet")
    # Not every file system has the attributes in which it would keep ETags.
    backend = ("posix", "--sidecar", str(metadata), str(buckets))
    process = Process([program(), *keys, *options, *backend], folder)
    try:
        process.wait_until_ready(made.is_ready)
        yield made
    finally:
        process.kill()
