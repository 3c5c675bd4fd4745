"""Certificates that another program keeps as files, read again when they change.

Where `certManagement.enable` is false, for example with cert-manager. Folder and names of the
files: reference behaviour 8.2.
"""

import asyncio
import logging
from pathlib import Path
from typing import Final

from trainer_infra.controller.serving_certificate import AUTHORITIES, SERVER, SERVER_KEY
from trainer_infra.controller.tls_context import ChangingTLSContext
from trainer_infra.errors import NotAvailable

FOLDER: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108  the reference's
_LOG: Final = logging.getLogger(__name__)


class CertificateFiles:
    """Runs until it is cancelled; `step` is one look."""

    def __init__(
        self, tls: ChangingTLSContext, folder: Path = FOLDER, interval: float = 10.0
    ) -> None:
        """Nothing is read yet.

        Args:
            tls: where they are shown.
            folder: with tls.crt, tls.key and, where there is one, ca.crt.
            interval: seconds between two looks.
        """
        self._tls = tls
        self._folder = folder
        self._interval = interval
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
            await asyncio.sleep(self._interval)

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
