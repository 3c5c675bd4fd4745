"""Certificates of servers, and the authorities that sign them.

An authority whose key its caller throws away signs nothing else.
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificateIssuerPrivateKeyTypes,
    CertificatePublicKeyTypes,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID: Final = dt.timedelta(days=3650)
"""Longer than any run; the certificate goes with the folder of its run."""
BACKDATED: Final = dt.timedelta(hours=1)
"""How long before it is made a certificate is valid: clocks differ."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM texts."""

    authority: bytes
    """What clients trust."""
    server: bytes
    """What the server shows."""
    key: bytes
    """The server's private key."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Who signs."""

    certificate: x509.Certificate
    key: CertificateIssuerPrivateKeyTypes


@dataclass(frozen=True, slots=True)
class Validity:
    """When a certificate is made, and how long it is valid from then."""

    now: dt.datetime
    period: dt.timedelta


def make_certificate(address: str) -> Certificate:
    """A new authority and a certificate for an IP address."""
    validity = Validity(dt.datetime.now(dt.UTC), VALID)
    authority = make_authority(_name("trainer-infra run"), validity)
    alternative = x509.IPAddress(ipaddress.ip_address(address))
    server, key = make_server_certificate(authority, [alternative], validity)
    return Certificate(authority.certificate.public_bytes(Encoding.PEM), server, key)


def make_authority(name: x509.Name, validity: Validity) -> Authority:
    """A new authority that vouches for itself, and signs servers' certificates only."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder((name, name), key.public_key(), key.public_key(), validity)
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def make_server_certificate(
    authority: Authority, alternatives: Sequence[x509.DNSName | x509.IPAddress], validity: Validity
) -> tuple[bytes, bytes]:
    """A new certificate that an authority signs, and its key, as PEM; it ends with the authority.

    Its subject is the first of the server's names.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    ends = min(validity.now + validity.period, issuer.not_valid_after_utc)
    builder = _builder(
        (_name(str(alternatives[0].value)), issuer.subject),
        key.public_key(),
        issuer.public_key(),
        Validity(validity.now, ends - validity.now),
    )
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return certificate.public_bytes(Encoding.PEM), key_text(key)


def key_text(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    """A private key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    names: tuple[x509.Name, x509.Name],
    key: ec.EllipticCurvePublicKey,
    issuer_key: CertificatePublicKeyTypes,
    validity: Validity,
) -> x509.CertificateBuilder:
    """What both kinds have; the names are the subject's and the issuer's."""
    subject, issuer = names
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.now - BACKDATED)
        .not_valid_after(validity.now + validity.period)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key),  # type: ignore[arg-type]
            critical=False,
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
