"""What a list or a watch of some objects sees of memory.py's store. Pure."""

import copy
from collections.abc import Mapping
from typing import Any

from tests.fake_api_server import label_selector
from tests.fake_api_server.label_selector import Matches
from tests.fake_api_server.object_store import Event
from tests.fake_api_server.request_judgement import refused
from trainer_infra.kube.client import ObjectChange, ObjectSelection
from trainer_infra.kube.resource import Resource

JSON = Mapping[str, Any]


def matching(selection: ObjectSelection, asked: str) -> Matches:
    """What is selected.

    Raises:
        Invalid: A selector cannot be read.
    """
    try:
        labels = label_selector.labels(selection.labels)
        fields = label_selector.fields(selection.fields, selection.resource.kind)
    except ValueError as error:
        raise refused("BadRequest", str(error), asked) from None
    inside = selection.namespace if selection.resource.namespaced else ""

    def matches(value: JSON) -> bool:
        there = not inside or value["metadata"]["namespace"] == inside
        return there and labels(value) and fields(value)

    return matches


def change(event: Event, kind: Resource, wanted: Matches) -> ObjectChange | None:
    """A change as a watch sees it: objects come into the selection and leave it."""
    if event.resource != kind:
        return None
    was = event.old is not None and wanted(event.old)
    if event.new is not None and wanted(event.new):
        return ObjectChange("MODIFIED" if was else "ADDED", copy.deepcopy(event.new))
    if not was or event.old is None:
        return None
    # The last state that was selected, with the version of the change.
    last = copy.deepcopy(dict(event.old))
    last["metadata"]["resourceVersion"] = str(event.version)
    return ObjectChange("DELETED", last)


def bookmark(kind: Resource, version: int) -> JSON:
    """The value of a bookmark."""
    metadata = {"resourceVersion": str(version), "creationTimestamp": None}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
