"""What the controller keeps of an object: enough for `lifecycle` to decide. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from trainer_infra.json_values import JSONObject

_METADATA: Final = (
    *("name", "namespace", "uid"),
    *("resourceVersion", "generation", "deletionTimestamp"),
)


def of_child(value: JSONObject) -> JSONObject:
    """An object's identity and controller."""
    metadata = value["metadata"]
    kept = _picked(metadata, _METADATA)
    owners = [each for each in metadata.get("ownerReferences") or () if each.get("controller")]
    return {
        "apiVersion": value["apiVersion"],
        "kind": value["kind"],
        "metadata": {**kept, "ownerReferences": owners},
    }


def of_job_set(value: JSONObject) -> JSONObject:
    """A JobSet's identity, controller, suspension and status."""
    return {
        **of_child(value),
        "spec": _picked(value.get("spec") or {}, ("suspend",)),
        "status": _picked(value.get("status") or {}, ("conditions", "replicatedJobsStatus")),
    }


def of_work(value: JSONObject) -> JSONObject:
    """A pod's or a Job's identity and status, which say why it waits and how it ended."""
    kept = (*_METADATA, "labels", "deletionGracePeriodSeconds")
    return {"metadata": _picked(value["metadata"], kept), "status": value.get("status") or {}}


def without_managers(value: JSONObject) -> JSONObject:
    """A whole object without the list of who wrote which field."""
    metadata = {key: item for key, item in value["metadata"].items() if key != "managedFields"}
    return {**value, "metadata": metadata}


def controller_uid(value: JSONObject) -> str:
    """The uid of the object that controls this one; empty where none does."""
    owners = value["metadata"].get("ownerReferences") or ()
    return next((str(each["uid"]) for each in owners if each.get("controller")), "")


def _picked(value: JSONObject, fields: Iterable[str]) -> dict[str, Any]:
    return {field: value[field] for field in fields if field in value}
