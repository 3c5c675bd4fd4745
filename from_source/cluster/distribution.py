"""A real registry of images and artifacts, which speaks TLS and asks for a password, built of its published module."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from from_source.cluster import build
from from_source.cluster.build import Program
from from_source.cluster.process import Process
from trainer_infra.keys.server_certificate import make_certificate
from trainer_infra.local.network import reserved_port

REGISTRY: Final = Program(
    "registry", "distribution", "github.com/distribution/distribution/v3/cmd/registry"
)
"""What is built."""
USER: Final = "tester"
PASSWORD: Final = "a-password-of-the-tests"  # noqa: S105  of a server that only this machine reaches
_HASH: Final = "$2b$04$FxzngwNXmUr/bXYEanjOKeIdDcOnU6WTB5puXatNtLiz4KX8pEWlG"
"""Of that password, by bcrypt, the only one that the registry takes."""


def program() -> str:
    """Its file, built where it is missing.

    Raises:
        NotAvailable: It cannot be built here.
    """
    return str(build.built(REGISTRY))


@dataclass(frozen=True, slots=True)
class Registry:
    """One that runs."""

    host: str
    """Address and port, as a reference to an image has it."""
    authority: Path
    """The certificate that signed the server's."""

    def client(self) -> httpx2.Client:
        """A client that may push."""
        verify = httpx2.create_ssl_context()
        verify.load_verify_locations(self.authority)
        url = f"https://{self.host}/v2/"
        return httpx2.Client(base_url=url, auth=(USER, PASSWORD), verify=verify, timeout=60)

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with self.client() as client:
                return client.get("").status_code == httpx2.codes.OK
        except httpx2.HTTPError:
            return False


@contextmanager
def running(folder: Path) -> Iterator[Registry]:
    """Serve an empty registry on a free port of this machine, with its files in a folder.

    Raises:
        NotAvailable: It cannot be built or does not come up.
    """
    certificate = make_certificate("127.0.0.1")
    texts = {
        "authority.pem": certificate.authority,
        "server.pem": certificate.server,
        "key.pem": certificate.key,
        "htpasswd": f"{USER}:{_HASH}\n".encode(),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    with reserved_port() as port:
        address = f"127.0.0.1:{port}"
    tls = {"certificate": str(folder / "server.pem"), "key": str(folder / "key.pem")}
    users = {"realm": "tests", "path": str(folder / "htpasswd")}
    config = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "content")}},
        "http": {"addr": address, "tls": tls},
        "auth": {"htpasswd": users},
    }
    # JSON is YAML, which the registry reads.
    (folder / "config.yml").write_text(json.dumps(config))
    made = Registry(address, folder / "authority.pem")
    process = Process([program(), "serve", str(folder / "config.yml")], folder)
    try:
        process.wait_until_ready(made.is_ready)
        yield made
    finally:
        process.kill()
