"""What the manager's servers accept of TLS, and how its configuration says so in Go's words.

Fields and defaults: reference behaviour 8.3; what is not known there is ignored with a warning, as
in the reference.
"""

import os
import re
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

from trainer_infra.errors import NotAvailable

HTTP: Final = "http/1.1"
"""What our servers speak."""
_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_OLD: Final = ("1.0", "1.1")
"""Known to the configuration; today's OpenSSL takes no handshake of these."""
_NEWEST_SUITES: Final = re.compile(r"TLS_(AES|CHACHA20)_\w+")
"""Cipher suites of TLS 1.3, which are always all there, as in Go."""
_SUITE: Final = re.compile(r"TLS_(?:(ECDHE_ECDSA|ECDHE_RSA)|RSA)_WITH_(\w+)")


@dataclass(frozen=True, slots=True)
class TLSOptions:
    """What a server accepts."""

    minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: str | None = None
    """OpenSSL's names of cipher suites up to TLS 1.2, with colons between them; None for its own."""
    protocols: tuple[str, ...] = (HTTP,)
    """What is offered by ALPN."""


@dataclass(frozen=True, slots=True)
class ConfiguredTLS:
    """Options, and a sentence for each word of the configuration that was ignored."""

    options: TLSOptions
    warnings: tuple[str, ...] = ()


def configured_tls(tls: Mapping[str, Any]) -> ConfiguredTLS:
    """The options that `tls` of the manager's configuration asks for, in the fields that are set."""
    warnings: list[str] = []
    asked = str(tls.get("minVersion") or "1.2")
    version = _VERSIONS.get(asked)
    if version is None:
        what = "is older than" if asked in _OLD else "is not a TLS version, so it is"
        warnings.append(f"tls.minVersion {asked!r} {what} 1.2; 1.2 is the oldest that is accepted")
    suites: Sequence[str] = tls.get("cipherSuites") or ()
    ciphers = ":".join(_openssl_names(suites, warnings))
    offered: Sequence[str] = tls.get("nextProtos") or (HTTP,)
    if HTTP not in offered or len(offered) > 1:
        warnings.append(f"tls.nextProtos: the servers speak {HTTP} only, and offer nothing else")
    options = TLSOptions(version or ssl.TLSVersion.TLSv1_2, ciphers or None)
    return ConfiguredTLS(options, tuple(warnings))


def _openssl_names(suites: Sequence[str], warnings: list[str]) -> Iterator[str]:
    """OpenSSL's names for Go's; a suite that one of both does not know is a warning."""
    for each in suites:
        if _NEWEST_SUITES.fullmatch(each):
            continue
        found = _SUITE.fullmatch(each)
        name = "" if found is None else _openssl_name(found[1], found[2])
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(name or "none")
        except ssl.SSLError:
            warnings.append(f"tls.cipherSuites: {each!r} is not known, and ignored")
        else:
            yield name


def _openssl_name(exchange: str | None, cipher: str) -> str:
    """`ECDHE-RSA-AES128-GCM-SHA256` for ECDHE_RSA and AES_128_GCM_SHA256."""
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256")
    cipher = cipher.replace("_CBC", "").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    return "-".join(filter(None, (exchange, cipher))).replace("_", "-")


class ChangingTLSContext:
    """A TLS context of a server whose certificate can change while it serves.

    Each handshake takes the certificate of its moment; connections that are open stay so. It
    has none until `show` is called; handshakes fail until then.
    """

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
