"""What is put into an object just before it is written, and is shown nowhere. Pure."""

import base64

from trainer_infra import names
from trainer_infra.cluster import run_store
from trainer_infra.cluster.run_store import Record
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import generated_secrets
from trainer_infra.runs.run import Contents, is_fixed

_CONTENT = ("data", "stringData", "binaryData")


def to_create(value: JSONObject, record: Record, known: Contents) -> JSONObject:
    """The object as it is created; empty (`is_empty`) where its contents are not known."""
    return generated_secrets.with_generated(
        with_contents(owned_object(value, record), record.name, known)
    )


def is_empty(value: JSONObject) -> bool:
    """Whether an object that `to_create` made lacks what should be in it."""
    if is_fixed(value):
        return not any(key in value for key in _CONTENT)
    return value["kind"] == "Secret" and None in (value.get("data") or {}).values()


def is_content(path: str) -> bool:
    """Whether a path of `drift.drifted_fields` is in what a Secret or a ConfigMap holds."""
    return path.partition(": ")[2].partition(".")[0] in _CONTENT


def owned_object(value: JSONObject, record: Record) -> JSONObject:
    """The object with the record as its controller, in the record's namespace."""
    metadata = {
        **value["metadata"],
        "namespace": value["metadata"].get("namespace") or record.namespace,
        "ownerReferences": [run_store.owner_reference(record)],
    }
    return {**value, "metadata": metadata}


def to_apply(value: JSONObject, record: Record, live: JSONObject, known: Contents) -> JSONObject:
    """The object as it is applied over the live one, which is ours and so are its contents.

    Keys that were made at create stay as they are; values of the job's own Secret are written as
    they are known. `spec.suspend` is not repaired: it is the user's or Kueue's.
    """
    if is_own_secret(value, record.name) and known.secret_data:
        return to_create(value, record, known)
    whole = owned_object(value, record)
    if value["kind"] == "Secret" or is_fixed(value):
        rest = {key: each for key, each in whole.items() if key not in _CONTENT}
        return rest | {key: live[key] for key in _CONTENT if key in live}
    if "suspend" in (value.get("spec") or {}):
        now = bool((live.get("spec") or {}).get("suspend"))
        return {**whole, "spec": {**whole["spec"], "suspend": now}}
    return whole


def is_own_secret(value: JSONObject, job: str) -> bool:
    """Whether the object is the job's own Secret, whose values the user gave."""
    wanted = ("Secret", f"{job}{names.SECRET_SUFFIX}")
    return (value["kind"], value["metadata"]["name"]) == wanted


def with_contents(value: JSONObject, job: str, known: Contents) -> JSONObject:
    """The object with what is known to be in it; None stands for a value that is not.

    Values of a Secret go into `data`: what server-side apply makes of `stringData` cannot be taken
    back.
    """
    if is_fixed(value):
        name = value["metadata"]["name"]
        found = (each for each in known.config_maps if each["metadata"]["name"] == name)
        original = next(found, {})
        return {**value, **{key: original[key] for key in _CONTENT if key in original}}
    if not is_own_secret(value, job):
        return value
    rest = {key: each for key, each in value.items() if key != "stringData"}
    data = {key: _base64(known.secret_data.get(key)) for key in value.get("stringData") or {}}
    return {**rest, "data": data}


def _base64(text: str | None) -> str | None:
    return None if text is None else base64.b64encode(text.encode()).decode()
