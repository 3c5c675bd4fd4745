"""Whose an object of the cluster is, as an error names it. Pure.

Called before anything that exists is changed: what is not the record's is left alone (design
rule 2).
"""

from trainer_infra import names
from trainer_infra.json_values import JSONObject


def is_of(value: JSONObject, uid: str) -> bool:
    """Whether the object belongs to the run with that UID."""
    references = value["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == uid for each in references)


def is_going(value: JSONObject) -> bool:
    """Whether the object is being deleted."""
    return "deletionTimestamp" in value["metadata"]


def owner_shown(value: JSONObject) -> str:
    """Whose the object is: a run of ours, another controller's, or the first writer's."""
    metadata = value["metadata"]
    labels = metadata.get("labels") or {}
    controller = next(
        (each for each in metadata.get("ownerReferences") or () if each.get("controller")), None
    )
    if names.RUN_LABEL in labels and labels.get(names.STACK_LABEL):
        stack = f"of stack {labels[names.STACK_LABEL]} of project {labels[names.PROJECT_LABEL]}"
        return f"run {labels[names.RUN_LABEL]} {stack}"
    if names.RUN_LABEL in labels:
        return f"run {labels[names.RUN_LABEL]} of `trainer-infra run`"
    if controller is not None:
        return f"{controller['kind']} {controller['name']}"
    writers = [each["manager"] for each in metadata.get("managedFields") or () if "manager" in each]
    return (
        f"no owner that is known here; it was written by {writers[0]}"
        if writers
        else "no known owner"
    )


def object_shown(value: JSONObject) -> str:
    """An object as an error names it: `Secret team/digits-secret`."""
    metadata = value["metadata"]
    return f"{value['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
