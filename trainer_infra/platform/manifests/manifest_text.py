"""YAML of manifests -> objects as an API server takes them."""

from collections.abc import Callable
from typing import Any, Final

import yaml

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject

_OF_THE_CLUSTER: Final = frozenset({
    "APIService", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition",
    "MutatingWebhookConfiguration", "Namespace", "PriorityClass", "StorageClass",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
})  # fmt: skip
"""Kinds whose objects are in no namespace; an API server reads theirs and forgets it."""


def objects_of_text(text: str, where: str) -> tuple[JSONObject, ...]:
    """Every object of YAML documents, those of lists one by one, without what a server writes.

    Raises:
        InvalidInput: It is not YAML, or a document is not an object of Kubernetes.
    """
    try:
        documents = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each is not None]
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise InvalidInput([Problem("", f"is not YAML: {reason}", where=where)]) from None
    objects = [item for each in documents for item in _items(each)]
    problems = [
        Problem("", "is not an object of Kubernetes: it needs apiVersion, kind and metadata.name",
                got=each, where=where)
        for each in objects if not _is_object(each)
    ]  # fmt: skip
    if problems:
        raise InvalidInput(problems)
    return tuple(_as_sent(each) for each in objects)


def with_containers(value: JSONObject, change: Callable[[JSONObject], JSONObject]) -> JSONObject:
    """A Deployment with each of its containers changed; another object as it is."""
    if value["kind"] != "Deployment":
        return value
    pods = value["spec"]["template"]
    containers = [change(each) for each in pods["spec"]["containers"]]
    template = {**pods, "spec": {**pods["spec"], "containers": containers}}
    return {**value, "spec": {**value["spec"], "template": template}}


def _items(document: Any) -> list[Any]:
    if isinstance(document, dict) and document.get("kind") == "List":
        return list(document.get("items") or ())
    return [document]


def _is_object(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("apiVersion"), str)
        and isinstance(value.get("kind"), str)
        and isinstance(value.get("metadata"), dict)
        and isinstance(value["metadata"].get("name"), str)
    )


def _as_sent(value: JSONObject) -> JSONObject:
    """Generated manifests carry `status: {}` and `creationTimestamp: null`, and charts a namespace of all."""
    left_out = {"creationTimestamp", *(("namespace",) if value["kind"] in _OF_THE_CLUSTER else ())}
    metadata = {key: each for key, each in value["metadata"].items() if key not in left_out}
    rest = {key: each for key, each in value.items() if key not in {"status", "metadata"}}
    return {**rest, "metadata": metadata}
