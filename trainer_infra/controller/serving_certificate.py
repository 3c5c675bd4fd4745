"""The certificates of the manager's webhooks as its Secret keeps them, and what is due of them. Pure.

`due_certificates` is asked again and again by every replica; at each moment some step is due, or
none. A new authority is first put beside the old ones in the bundle; once the API server trusts it,
it signs the server's certificate; once every replica shows that one, the old authorities leave. So
there is no moment at which a replica shows a certificate that the bundle does not trust. Names,
keys of the Secret and periods: reference behaviour 8.2.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from trainer_infra.keys.server_certificate import (
    BACKDATED,
    Authority,
    Validity,
    key_text,
    make_authority,
    make_server_certificate,
)

AUTHORITIES: Final = "ca.crt"
"""What is trusted; the first one signs."""
AUTHORITY_KEY: Final = "ca.key"
SERVER: Final = "tls.crt"
SERVER_KEY: Final = "tls.key"
KEYS: Final = (AUTHORITIES, AUTHORITY_KEY, SERVER, SERVER_KEY)
AUTHORITY_NAME: Final = x509.Name(
    [
        x509.NameAttribute(NameOID.COMMON_NAME, "kubeflow-trainer-ca"),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "kubeflow-trainer"),
    ]
)
_UNREADABLE: Final = (ValueError, TypeError, UnsupportedAlgorithm)
"""What `cryptography` raises for texts that are no certificates or keys."""


@dataclass(frozen=True, slots=True)
class CertificatePeriods:
    """How long certificates are valid and trusted."""

    authority: dt.timedelta = dt.timedelta(days=3650)
    """Validity of an authority."""
    server: dt.timedelta = dt.timedelta(days=365)
    """Validity of a server's certificate."""
    overlap: dt.timedelta = dt.timedelta(days=1)
    """How long old authorities stay trusted after the server's certificate is another one's: longer
    than replicas need to show it, and running pods to read the new bundle."""
    authority_share: float = 2 / 3
    """Which part of its validity passes before an authority is renewed."""
    server_share: float = 2 / 3
    """The same of a server's certificate."""


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """What is known of the Secret's contents."""

    trusted: tuple[x509.Certificate, ...] = ()
    """Authorities that can vouch for a server."""
    signer: Authority | None = None
    """The first of them, where its key is there."""
    server: x509.Certificate | None = None
    """The server's certificate, where it is sound: valid for its names, with its key, and trusted."""
    authority: x509.Certificate | None = field(default=None, compare=False)
    """Which of `trusted` signed it."""


def read_certificates(
    stored: Mapping[str, bytes], dns_names: Iterable[str], now: dt.datetime
) -> ServingCertificate:
    """What is sound of a Secret's contents; whatever is damaged, expired or missing is not there."""
    trusted = tuple(
        each for each in _certificates(stored.get(AUTHORITIES, b"")) if _can_sign(each, now)
    )
    key = _private_key(stored.get(AUTHORITY_KEY, b""))
    signer = None
    if key is not None and trusted and _belongs(key, trusted[0]):
        signer = Authority(trusted[0], key)
    shown = _certificates(stored.get(SERVER, b""))
    if not shown or not _belongs(_private_key(stored.get(SERVER_KEY, b"")), shown[0]):
        return ServingCertificate(trusted, signer)
    server = shown[0]
    authority = next((each for each in trusted if _signed_by(server, each)), None)
    if authority is None or not _is_valid(server, now) or not _covers(server, dns_names):
        return ServingCertificate(trusted, signer)
    return ServingCertificate(trusted, signer, server, authority)


def due_certificates(
    stored: Mapping[str, bytes],
    dns_names: tuple[str, ...],
    now: dt.datetime,
    periods: CertificatePeriods,
    *,
    is_settled: bool,
) -> dict[str, bytes]:
    """What the Secret is to contain; equal to what is stored where nothing is due.

    It is settled where every webhook has had the bundle of this Secret for long enough that each API server
    goes by it.
    """
    found = read_certificates(stored, dns_names, now)
    trusted, signer, server = found.trusted, found.signer, found.server
    in_rotation = server is not None and (signer is None or found.authority != trusted[0])
    is_alone = server is not None and trusted == (found.authority,)
    is_aged = is_alone and _is_aged(trusted[0], now, periods.authority_share)
    due = dict(stored)
    if signer is None or is_aged:
        signer = make_authority(AUTHORITY_NAME, Validity(now, periods.authority))
        trusted = (signer.certificate, *trusted)
        due[AUTHORITY_KEY] = key_text(signer.key)
    is_old = server is not None and (in_rotation or _is_aged(server, now, periods.server_share))
    if server is None or (is_old and is_settled and signer is found.signer):
        alternatives = [x509.DNSName(each) for each in dns_names]
        validity = Validity(now, periods.server)
        due[SERVER], due[SERVER_KEY] = make_server_certificate(signer, alternatives, validity)
    elif not in_rotation and now >= _made(server) + periods.overlap:
        # What signed the server's certificate is still needed, and perhaps a new one.
        trusted = tuple(each for each in trusted if each in (signer.certificate, found.authority))
    due[AUTHORITIES] = b"".join(each.public_bytes(Encoding.PEM) for each in trusted)
    return due


def _certificates(text: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text)
    except _UNREADABLE:
        return []


def _private_key(text: bytes) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None:
    """A key that can sign; those of the reference are RSA's."""
    try:
        key = serialization.load_pem_private_key(text, None)
    except _UNREADABLE:
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) else None


def _belongs(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None, certificate: x509.Certificate
) -> bool:
    try:
        return key is not None and key.public_key() == certificate.public_key()
    except _UNREADABLE:
        return False


def _is_valid(certificate: x509.Certificate, now: dt.datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _can_sign(certificate: x509.Certificate, now: dt.datetime) -> bool:
    try:
        limits = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except (x509.ExtensionNotFound, *_UNREADABLE):
        return False
    return limits.value.ca and _is_valid(certificate, now)


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, *_UNREADABLE):
        return False
    return True


def _covers(certificate: x509.Certificate, dns_names: Iterable[str]) -> bool:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except (x509.ExtensionNotFound, *_UNREADABLE):
        return False
    return set(dns_names) <= {*found.value.get_values_for_type(x509.DNSName)}


def _is_aged(certificate: x509.Certificate, now: dt.datetime, share: float) -> bool:
    """Whether it is time to renew a certificate."""
    made = _made(certificate)
    return now >= made + (certificate.not_valid_after_utc - made) * share


def _made(certificate: x509.Certificate) -> dt.datetime:
    """When a certificate was made; the reference, too, lets it begin an hour before."""
    return certificate.not_valid_before_utc + BACKDATED
