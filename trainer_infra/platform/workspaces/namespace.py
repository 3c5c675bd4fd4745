"""The namespace of a workspace, and which pods the Pod Security admission lets in.

Levels and labels: Kubernetes, "Enforce Pod Security Standards with Namespace Labels".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.shape.object_meta import LABELS
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import shape_problems

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""Every namespace has it; its value is the namespace's name."""
LEVELS: Final = ("baseline", "restricted", "privileged")
"""The default one first."""
_SECURITY: Final = "pod-security.kubernetes.io/"
_WARN_LEVEL: Final = "restricted"


def namespace_object(name: str, level: str, labels: Mapping[str, str]) -> JSONObject:
    """The Namespace; what is more than `restricted` allows is warned of and audited at every level."""
    security = {
        f"{_SECURITY}enforce": level,
        f"{_SECURITY}warn": _WARN_LEVEL,
        f"{_SECURITY}audit": _WARN_LEVEL,
    }
    metadata = {"name": name, "labels": {**labels, **security}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def namespace_problems(name: str) -> Iterator[Problem]:
    """A namespace that Kubernetes itself makes: to destroy the workspace would destroy it."""
    if name == "default" or name.startswith("kube-"):
        what = "belongs to Kubernetes, and destroy would delete it"
        yield Problem("namespace", what, got=name, fix="give the team a namespace of its own")


def namespace_label_problems(labels: Any) -> Iterator[Problem]:
    """What is wrong with further labels of the namespace."""
    yield from shape_problems(("labels",), labels, LABELS)
    for key in labels:
        if key.startswith(_SECURITY):
            yield Problem(f"labels.{key}", "is set by pod_security", fix="leave it out")


def own_namespace(name: str) -> JSONObject:
    """A selector of that one namespace."""
    return {"matchLabels": {NAME_LABEL: name}}
