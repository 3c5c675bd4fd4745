"""An SSH key pair: how the launcher of an MPI job reaches its nodes.

Rule: reference behaviour 3.6.
"""

from typing import NamedTuple


class SSHKeyPair(NamedTuple):
    """Both halves of a key."""

    private: bytes
    """PEM."""
    public: bytes
    """A line of authorized_keys, with its end."""


def make_key_pair() -> SSHKeyPair:
    """A new ECDSA P-521 key."""
    # Heavy, and most objects have no contents to make.
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  slow to import
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  slow to import

    private = ec.generate_private_key(ec.SECP521R1())
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    line = private.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return SSHKeyPair(pem, line + b"\n")
