"""Keys and certificates of the cluster: one authority, the API server's, and its own as a client.

They are made once in the cluster's folder and go with it.
"""

import datetime as dt
import ipaddress
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from from_source.cluster import live

_LIFETIME: Final = dt.timedelta(days=3650)

_YESTERDAY: Final = dt.timedelta(days=1)
"""How far back a certificate is valid, for a clock that is set later."""


def folder() -> Path:
    """Where they stand: `<name>.crt` and `<name>.key`."""
    return live.made("certificates")


def key() -> bytes:
    """A new private key as PEM."""
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def authority() -> Path:
    """The authority's certificate, made where it is missing; its key stands beside it."""
    file = folder() / "ca.crt"
    if not file.exists():
        own = ec.generate_private_key(ec.SECP256R1())
        subject = _subject("trainer-infra-cluster")
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        built = _begun(subject, subject, own).add_extension(constraints, critical=True)
        live.write_private(file.with_suffix(".key"), _pem(own))
        _write(file, built.sign(own, hashes.SHA256()))
    return file


def server(name: str, hosts: tuple[str, ...]) -> Path:
    """A server's certificate for names and addresses, made where it is missing."""
    names = x509.SubjectAlternativeName([_host(each) for each in hosts])
    return _issued(name, _subject(name), (names, ExtendedKeyUsageOID.SERVER_AUTH))


def client(name: str, group: str) -> Path:
    """A client's certificate; `group` is what the API server and kubelets take it for."""
    return _issued(name, _subject(name, group), (None, ExtendedKeyUsageOID.CLIENT_AUTH))


def _issued(
    name: str,
    subject: x509.Name,
    what: tuple[x509.SubjectAlternativeName | None, x509.ObjectIdentifier],
) -> Path:
    file = folder() / f"{name}.crt"
    if file.exists():
        return file
    issuer = x509.load_pem_x509_certificate(authority().read_bytes())
    issuing = serialization.load_pem_private_key(
        authority().with_suffix(".key").read_bytes(), password=None
    )
    own = ec.generate_private_key(ec.SECP256R1())
    names, usage = what
    built = _begun(subject, issuer.subject, own)
    built = built.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names is not None:
        built = built.add_extension(names, critical=False)
    if not isinstance(issuing, ec.EllipticCurvePrivateKey):
        raise TypeError(
            f"{authority().with_suffix('.key')} holds another kind of key than we write"
        )
    live.write_private(file.with_suffix(".key"), _pem(own))
    _write(file, built.sign(issuing, hashes.SHA256()))
    return file


def _begun(
    subject: x509.Name, issuer: x509.Name, own: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _YESTERDAY)
        .not_valid_after(now + _LIFETIME)
    )


def _subject(name: str, group: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if group:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(own: ec.EllipticCurvePrivateKey) -> bytes:
    return own.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _write(file: Path, certificate: x509.Certificate) -> None:
    live.write_private(file, certificate.public_bytes(serialization.Encoding.PEM))
