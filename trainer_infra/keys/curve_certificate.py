"""A ZeroMQ CURVE certificate (ZeroMQ RFC 32), by which the brokers of a Flux job know one another.

The same seed gives the same certificate, so that writing it again changes nothing. Rule: reference
behaviour 3.7.
"""

import base64
import hashlib
from typing import Final

_BASE85: Final = (
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)
_Z85: Final = (
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)
_TO_Z85: Final = bytes.maketrans(_BASE85, _Z85)


def curve_certificate(name: str, secret: str) -> bytes:
    """The certificate of that name, whose secret key is the SHA-256 of a text."""
    seed = hashlib.sha256(secret.encode()).digest()
    return (
        "#  ZeroMQ CURVE secret certificate, made by trainer_infra\n"
        "metadata\n"
        f'    name = "{name}"\n'
        "curve\n"
        f'    public-key = "{_z85(_public(seed))}"\n'
        f'    secret-key = "{_z85(seed)}"\n'
    ).encode()


def _public(seed: bytes) -> bytes:
    # Heavy, and few jobs are Flux's.
    from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415  slow to import

    return x25519.X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def _z85(data: bytes) -> str:
    """40 characters for 32 bytes: ZeroMQ's base 85 (its RFC 32)."""
    return base64.b85encode(data).translate(_TO_Z85).decode()
