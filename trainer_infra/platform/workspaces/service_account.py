"""The service account of training pods: no token of the API server, and the identity of a cloud.

It is the namespace's `default` one unless the program names another, so that every pod that names none has
it: TrainJobs of the SDK and the shipped runtimes do not name one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject

DEFAULT: Final = "default"
"""Kubernetes makes one of this name in each namespace, and pods that name none have it."""


def service_account(
    name: str, namespace: str, annotations: Mapping[str, pulumi.Input[str]]
) -> JSONObject:
    """A ServiceAccount whose pods get no token unless they ask for one."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def annotation_problems(annotations: object) -> Iterator[Problem]:
    """Annotations that are no texts."""
    path = "service_account_annotations"
    if not isinstance(annotations, Mapping):
        fix = 'write {"eks.amazonaws.com/role-arn": "arn:aws:iam::ACCOUNT:role/ROLE"}'
        yield Problem(path, "must be a mapping of texts", got=annotations, fix=fix)
        return
    for key, value in annotations.items():
        if not isinstance(value, str | pulumi.Output):
            yield Problem(f"{path}.{key}", "must be text", got=value)
