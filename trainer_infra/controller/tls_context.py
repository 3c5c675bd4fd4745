"""A TLS context of a server whose certificate can change while it serves.

Each handshake takes the certificate of its moment; connections that are open stay so.
"""

import os
import ssl
import tempfile
from typing import BinaryIO, cast

from trainer_infra.controller.tls_options import TLSOptions
from trainer_infra.errors import NotAvailable


class ChangingTLSContext:
    """Has no certificate until `show` is called; handshakes fail until then."""

    def __init__(self, options: TLSOptions) -> None:
        self._options = options
        self._shown: tuple[bytes, bytes] | None = None
        self._current: ssl.SSLContext | None = None
        self.context = self._made()
        """What servers are given."""
        self.context.sni_callback = self._choose
        self.context.num_tickets = 0  # A resumed session would show no certificate.

    @property
    def is_ready(self) -> bool:
        """Whether there is a certificate to show."""
        return self._current is not None

    def show(self, certificate: bytes, key: bytes) -> bool:
        """Show this certificate from the next handshake on; whether that is another one than before.

        Raises:
            NotAvailable: They are no certificate with its key; the one before is still shown.
        """
        if (certificate, key) == self._shown:
            return False
        fresh = self._made()
        with _memory_file() as file:
            file.write(certificate.rstrip() + b"\n" + key)
            file.seek(0)
            try:
                fresh.load_cert_chain(f"/dev/fd/{file.fileno()}", password="")
            except ssl.SSLError as error:
                raise NotAvailable(
                    f"the server's certificate and key cannot be used: {error}; "
                    "write PEM texts of a certificate and its key"
                ) from error
        self._shown, self._current = (certificate, key), fresh
        return True

    def _made(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._options.minimum_version
        if self._options.ciphers is not None:
            context.set_ciphers(self._options.ciphers)
        context.set_alpn_protocols([*self._options.protocols])
        return context

    def _choose(self, connection: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> int | None:
        """The certificate of a handshake; OpenSSL asks for each, with a server's name or without.

        A context takes one certificate per type of key, so another one in the same context could
        leave the one before in use.
        """
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def _memory_file() -> BinaryIO:
    """A file that no folder has: a key never comes to a disk."""
    if hasattr(os, "memfd_create"):
        return cast("BinaryIO", os.fdopen(os.memfd_create("certificate"), "w+b"))
    return cast("BinaryIO", tempfile.TemporaryFile())
