"""What is put into an object just before it is written, and is shown nowhere. Pure.

Called by `submit`, `repair` and `adopt`: the namespace and the owner, values of the job's own
Secret, keys that are made at create (`lifecycle.ssh_auth`), and of an object that exists what the
record does not keep of it.
"""

import base64
from collections.abc import Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.cluster import record as of_record
from trainer_infra.cluster.record import Record
from trainer_infra.lifecycle import ssh_auth

JSON = Mapping[str, Any]

_CONTENT = ("data", "stringData", "binaryData")


def new(value: JSON, record: Record, secret_data: Mapping[str, str]) -> JSON:
    """The object as it is created."""
    return ssh_auth.filled(_with_values(owned(value, record), record, secret_data))


def owned(value: JSON, record: Record) -> JSON:
    """The object with the record as its controller, in the record's namespace."""
    metadata = {
        **value["metadata"],
        "namespace": value["metadata"].get("namespace") or record.namespace,
        "ownerReferences": [of_record.reference(record)],
    }
    return {**value, "metadata": metadata}


def existing(value: JSON, record: Record, live: JSON) -> JSON:
    """The object as it is applied over the live one: contents that are not kept stay as they are.

    `spec.suspend` is not repaired: it is the user's or Kueue's.
    """
    whole = owned(value, record)
    if value["kind"] == "Secret" or (value["kind"] == "ConfigMap" and value.get("immutable")):
        rest = {key: each for key, each in whole.items() if key not in _CONTENT}
        return rest | {key: live[key] for key in _CONTENT if key in live}
    if "suspend" in (value.get("spec") or {}):
        now = bool((live.get("spec") or {}).get("suspend"))
        return {**whole, "spec": {**whole["spec"], "suspend": now}}
    return whole


def is_own_secret(value: JSON, record: Record) -> bool:
    """Whether the object is the job's own Secret, whose values the user gave."""
    wanted = ("Secret", f"{record.name}{names.SECRET_SUFFIX}")
    return (value["kind"], value["metadata"]["name"]) == wanted


def _with_values(value: JSON, record: Record, secret_data: Mapping[str, str]) -> JSON:
    """The job's own Secret with its values.

    They go into `data`: what server-side apply makes of `stringData` cannot be taken back.
    """
    if not is_own_secret(value, record):
        return value
    rest = {key: each for key, each in value.items() if key != "stringData"}
    shown = value.get("stringData") or {}
    return {**rest, "data": {key: _base64(secret_data.get(key, "")) for key in shown}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
