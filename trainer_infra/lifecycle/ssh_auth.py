"""Contents of Secrets that are made at create, and never shown: MPI's SSH keys, Flux's certificate.

A driver calls `filled` with each object before it writes it. Rules:
reference behaviour 3.6 and 3.7.
"""

import base64
from collections.abc import Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.errors import Bug
from trainer_infra.lifecycle import flux_curve

JSON = Mapping[str, Any]


def filled(value: JSON) -> JSON:
    """The object, with contents where it has `names.GENERATED_SHOWN`; others as they are.

    SSH keys are new at each call. A certificate depends on the UID of the object's owner only.

    Raises:
        Bug: A Secret wants contents that nobody makes, or a certificate and has no owner.
    """
    if value["kind"] != "Secret" or names.GENERATED_SHOWN not in (value.get("data") or {}).values():
        return value
    if value.get("type") == names.SSH_AUTH_TYPE:
        made = _keys()
    elif names.FLUX_CURVE_KEY in value["data"]:
        made = {names.FLUX_CURVE_KEY: flux_curve.certificate(value)}
    else:
        raise Bug(f"nobody makes the contents of Secret {value['metadata']['name']}")
    data = {key: base64.b64encode(content).decode() for key, content in made.items()}
    return {**value, "data": {**value["data"], **data}}


def _keys() -> dict[str, bytes]:
    """A new ECDSA P-521 key: the private half as PEM, the public half as an authorized_keys line."""
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
    return {names.SSH_PRIVATE_KEY: pem, names.SSH_PUBLIC_KEY: line + b"\n"}
