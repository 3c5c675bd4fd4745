"""Certificates of every condition, for the tests of this folder."""

import datetime as dt
import ssl
from collections.abc import Iterable, Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from trainer_infra.controller.serving_certificate import AUTHORITY_NAME

NOW: Final = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
HOUR: Final = dt.timedelta(hours=1)
YEAR: Final = dt.timedelta(days=365)
NAMES: Final = ("hooks.system.svc", "hooks.system.svc.cluster.local")


def of_the_reference(names: Sequence[str] = NAMES[:1]) -> dict[str, bytes]:
    """A Secret as the reference's rotation makes it: RSA keys in the form PKCS 1."""
    keys = [rsa.generate_private_key(65537, 2048) for _ in range(2)]
    subject = x509.Name(AUTHORITY_NAME)
    server = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    authority = (
        builder(subject, subject, keys[0].public_key(), 10 * YEAR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage(signs=True), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(names[0])]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(keys[0].public_key()), False)
        .sign(keys[0], hashes.SHA256())
    )
    shown = (
        builder(server, subject, keys[1].public_key(), 10 * YEAR)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(x509.SubjectAlternativeName([*map(x509.DNSName, names)]), critical=False)
        .sign(keys[0], hashes.SHA256())
    )
    texts = [
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        for key in keys
    ]
    return {
        "ca.crt": authority.public_bytes(Encoding.PEM),
        "ca.key": texts[0],
        "tls.crt": shown.public_bytes(Encoding.PEM),
        "tls.key": texts[1],
    }


def builder(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPublicKey, period: dt.timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - HOUR)
        .not_valid_after(NOW + period)
    )


def usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(True, False, True, False, False, signs, False, False, False)


def trusts(bundle: bytes, shown: bytes, now: dt.datetime, name: str = NAMES[0]) -> bool:
    """Whether a client with that bundle takes a server of that name that shows this."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    server, *others = x509.load_pem_x509_certificates(shown)
    verifier = PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(server, others)
    except VerificationError:
        return False
    return True


def context(bundle: bytes) -> ssl.SSLContext:
    """A client's context that trusts this alone."""
    return ssl.create_default_context(cadata=bundle.decode())


def count(bundle: bytes) -> int:
    return len(x509.load_pem_x509_certificates(bundle))


def subjects(bundle: bytes) -> Iterable[str]:
    return [each.subject.rfc4514_string() for each in x509.load_pem_x509_certificates(bundle)]


def first(bundle: bytes) -> bytes:
    """The authority that signs."""
    return x509.load_pem_x509_certificates(bundle)[0].public_bytes(Encoding.PEM)
