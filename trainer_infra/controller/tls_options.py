"""What the manager's servers accept of TLS, and how its configuration says so in Go's words.

Fields and defaults: reference behaviour 8.3; what is not known there is ignored with a warning, as
in the reference.
"""

import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

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
    """The options that `tls` of the manager's configuration asks for.

    Args:
        tls: minVersion, cipherSuites and nextProtos, each where it is set.
    """
    warnings: list[str] = []
    asked = str(tls.get("minVersion") or "1.2")
    version = _VERSIONS.get(asked)
    if version is None:
        what = "is older than" if asked in _OLD else "is no version of TLS, so it is"
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
