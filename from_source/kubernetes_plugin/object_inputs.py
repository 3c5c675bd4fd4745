"""Inputs of a resource: which Kubernetes object they are, what is wrong with them, what is added.

As the real plugin does: a name of its own where the program gives none, and the namespace that the
provider is configured with.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

AUTONAMED: Final = "pulumi.com/autonamed"
"""Annotation of an object whose name the program did not choose."""
_DIGITS: Final = 8
_OTHER_FEATURES: Final = ("helm.sh/", "yaml/", "kustomize/")
"""Groups of types that are no objects of an API server."""


def token(urn: str) -> str:
    """The type in a URN, for example `kubernetes:apps/v1:Deployment`."""
    return urn.split("::")[2].rsplit("$", 1)[-1]


def problems(kind: str, inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong: property and sentence.

    Args:
        kind: the resource's type.
        inputs: its inputs.
    """
    group = kind.removeprefix("kubernetes:")
    if group.startswith(_OTHER_FEATURES) or group.endswith("Patch"):
        what = "is not served by the stand-in for Pulumi's Kubernetes plugin, which serves single objects"
        yield (
            "",
            f"{kind} {what}; install the real one: `pulumi plugin install resource kubernetes`",
        )
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(inputs.get(key), str):
            yield key, f"must be a string, got {inputs.get(key)!r}"
    metadata = inputs.get("metadata", {})
    if not isinstance(metadata, dict):
        yield "metadata", f"must be an object, got {metadata!r}"
    elif metadata.get("generateName"):
        yield "metadata.generateName", "is not supported by the stand-in; leave it out for a name"


def with_name(
    inputs: Mapping[str, Any], before: Mapping[str, Any], name: str, seed: bytes
) -> dict[str, Any]:
    """The inputs with a name: their own, that of `before`, or the resource's with eight digits.

    Args:
        inputs: a program's inputs.
        before: the inputs of the last `up`; empty for a new object or its replacement.
        name: the resource's name.
        seed: what the digits are made of.
    """
    metadata = dict(inputs.get("metadata") or {})
    if metadata.get("name"):
        return {**inputs, "metadata": metadata}
    old = before.get("metadata") or {}
    known = is_autonamed(before) and old.get("name")
    metadata["name"] = known or f"{name}-{hashlib.sha256(seed).hexdigest()[:_DIGITS]}"
    metadata["annotations"] = {**(metadata.get("annotations") or {}), AUTONAMED: "true"}
    return {**inputs, "metadata": metadata}


def is_autonamed(inputs: Mapping[str, Any]) -> bool:
    """Whether the program left the name to Pulumi, so that two of it can be there at once."""
    annotations = (inputs.get("metadata") or {}).get("annotations") or {}
    return bool(annotations.get(AUTONAMED) == "true")


def with_namespace(inputs: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The inputs of an object of a kind that has namespaces, in one."""
    metadata = dict(inputs.get("metadata") or {})
    return {**inputs, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}


def identity(value: Mapping[str, Any]) -> str:
    """The resource's ID: `<namespace>/<name>`, or the name alone."""
    metadata = value["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
