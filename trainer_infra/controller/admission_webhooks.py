"""Admission as a part of the manager: the server of the webhooks and the keeper of its certificate.

The manager enters `admission_webhooks`; `AdmissionWebhooks.is_ready` is its part of /readyz. Where `certManagement.enable` is false, another program keeps the certificate, for example
cert-manager. Folder and names of its files: reference behaviour 8.2.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from prometheus_client import Histogram

from trainer_infra.controller.admission_judgement import AdmissionJudge
from trainer_infra.controller.certificate_rotation import CertificateOptions, CertificateRotation
from trainer_infra.controller.serving_certificate import AUTHORITIES, SERVER, SERVER_KEY
from trainer_infra.controller.tls_options import ChangingTLSContext, TLSOptions
from trainer_infra.controller.webhook_server import WebhookAddress, serve_webhooks
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient

FOLDER: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108  the reference's
_PAUSE: Final = 10.0
"""Seconds between two looks at files."""

_LOG: Final = logging.getLogger(__name__)


class CertificateFiles:
    """Shows tls.crt and tls.key of a folder, and reads ca.crt where there is one; `step` is one look."""

    def __init__(self, tls: ChangingTLSContext, folder: Path = FOLDER) -> None:
        self._tls = tls
        self._folder = folder
        self.authorities = b""
        """PEM of what vouches for the server; empty where there is no such file."""

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate to show."""
        return self._tls.is_ready

    async def run(self) -> None:
        """Look again and again; an error is logged, and what was shown is shown on."""
        while True:
            try:
                await self.step()
            except NotAvailable as error:
                _LOG.warning("the webhooks' certificate cannot be read now: %s", error)
            await asyncio.sleep(_PAUSE)

    async def step(self) -> None:
        """Show what is in the files.

        Raises:
            NotAvailable: There is none, or it is half of a new one.
        """
        try:
            texts = await asyncio.to_thread(self._texts)
        except OSError as error:
            raise NotAvailable(
                f"{error}; put {SERVER} and {SERVER_KEY} into {self._folder}, or set "
                "certManagement.enable to true"
            ) from error
        self._tls.show(texts[SERVER], texts[SERVER_KEY])
        self.authorities = texts[AUTHORITIES]

    def _texts(self) -> dict[str, bytes]:
        texts = {name: (self._folder / name).read_bytes() for name in (SERVER, SERVER_KEY)}
        authorities = self._folder / AUTHORITIES
        return texts | {AUTHORITIES: authorities.read_bytes() if authorities.exists() else b""}


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """What the manager's configuration says of webhooks and certificates."""

    address: WebhookAddress = field(default_factory=WebhookAddress)
    tls: TLSOptions = field(default_factory=TLSOptions)
    certificates: CertificateOptions | None = field(default_factory=CertificateOptions)
    """What is kept in the cluster; None where another program keeps certificates as files."""
    folder: Path = FOLDER
    """Where those files are."""
    review_seconds: Histogram | None = None
    """Takes the seconds of each review, by path and code."""


@dataclass(frozen=True, slots=True)
class AdmissionWebhooks:
    """The webhooks while they are served."""

    port: int
    context: ssl.SSLContext
    """What another server serves with, so that it shows the same certificate."""
    keeper: CertificateRotation | CertificateFiles
    keeping: asyncio.Task[None]
    """Looks after the certificate, until the webhooks end."""

    @property
    def authorities(self) -> bytes:
        """PEM of what vouches for the certificate; empty until it is known."""
        return self.keeper.authorities

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate that is looked after, and the API server trusts it."""
        return self.keeper.is_ready and not self.keeping.done()


@asynccontextmanager
async def admission_webhooks(
    client: KubeClient, judge: AdmissionJudge, options: WebhookOptions
) -> AsyncGenerator[AdmissionWebhooks, None]:
    """Serve the webhooks, and keep their certificate, until the context ends.

    The client keeps the certificate; where files have it, it is not used.

    Raises:
        NotAvailable: The port is another program's.
    """
    tls = ChangingTLSContext(options.tls)
    keeper: CertificateRotation | CertificateFiles
    if options.certificates is None:
        keeper = CertificateFiles(tls, options.folder)
    else:
        keeper = CertificateRotation(client, tls, options.certificates)
    serving = serve_webhooks(judge, tls.context, options.address, options.review_seconds)
    async with serving as port:
        keeping = asyncio.create_task(keeper.run(), name="certificates of the webhooks")
        try:
            yield AdmissionWebhooks(port, tls.context, keeper, keeping)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
