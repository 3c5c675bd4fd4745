"""curve.cert of a Flux job: the certificate by which its brokers know one another.

The same owner has the same certificate, so that writing it again changes nothing. Called by
`ssh_auth.filled`. Rule: reference behaviour 3.7.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import Bug

JSON = Mapping[str, Any]

_BASE85: Final = (
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)
_Z85: Final = (
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)
_TO_Z85: Final = bytes.maketrans(_BASE85, _Z85)


def certificate(secret: JSON) -> bytes:
    """The certificate for a Secret: its secret key is the SHA-256 of the controller's UID.

    Raises:
        Bug: The Secret has no controller.
    """
    name = str(secret["metadata"]["name"])
    seed = hashlib.sha256(_uid(secret).encode()).digest()
    return (
        "#  ZeroMQ CURVE secret certificate, made by trainer_infra\n"
        "metadata\n"
        f'    name = "{name.removesuffix(names.FLUX_CURVE_SUFFIX)}"\n'
        "curve\n"
        f'    public-key = "{_z85(_public(seed))}"\n'
        f'    secret-key = "{_z85(seed)}"\n'
    ).encode()


def _public(seed: bytes) -> bytes:
    # Heavy, and few jobs are Flux's.
    from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415  slow to import

    return x25519.X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def _uid(secret: JSON) -> str:
    for reference in secret["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference["uid"])
    raise Bug(
        f"Secret {secret['metadata']['name']} has no controller, whose UID its key is made of"
    )


def _z85(data: bytes) -> str:
    """40 characters for 32 bytes: ZeroMQ's base 85 (its RFC 32)."""
    return base64.b85encode(data).translate(_TO_Z85).decode()
