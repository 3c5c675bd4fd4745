"""Contents of Secrets that are made at create, and never shown: MPI's SSH keys, Flux's certificate.

A driver calls `with_generated` with each object before it writes it. Rules:
reference behaviour 3.6 and 3.7.
"""

import base64

from trainer_infra import names
from trainer_infra.errors import Bug
from trainer_infra.json_values import JSONObject
from trainer_infra.keys import curve_certificate, ssh_key_pair
from trainer_infra.lifecycle import foreign_objects


def with_generated(value: JSONObject) -> JSONObject:
    """The object, with contents where it has `names.GENERATED_SHOWN`; others as they are.

    SSH keys are new at each call. A certificate depends on the UID of the object's owner only.

    Raises:
        Bug: A Secret wants contents that nothing makes, or a certificate and has no owner.
    """
    if value["kind"] != "Secret" or names.GENERATED_SHOWN not in (value.get("data") or {}).values():
        return value
    data = {key: base64.b64encode(content).decode() for key, content in _made(value).items()}
    return {**value, "data": {**value["data"], **data}}


def _made(secret: JSONObject) -> dict[str, bytes]:
    name = str(secret["metadata"]["name"])
    if secret.get("type") == names.SSH_AUTH_TYPE:
        pair = ssh_key_pair.make_key_pair()
        return {names.SSH_PRIVATE_KEY: pair.private, names.SSH_PUBLIC_KEY: pair.public}
    if names.FLUX_CURVE_KEY in secret["data"]:
        owner = foreign_objects.controller_of(secret)
        if owner is None:
            raise Bug(f"Secret {name} has no controller, whose UID its key is made of")
        job = name.removesuffix(names.FLUX_CURVE_SUFFIX)
        return {names.FLUX_CURVE_KEY: curve_certificate.curve_certificate(job, str(owner["uid"]))}
    raise Bug(f"Secret {name} wants contents that nothing makes")
