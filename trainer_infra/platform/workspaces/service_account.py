"""The service account of training pods: no token of the API server, and the identity of a cloud.

It is not the namespace's `default` one, which Kubernetes itself makes as soon as the namespace is there:
Pulumi's plugin refuses to create what exists. So runtimes or TrainJobs name it; a RuntimeCatalog does with
`service_account=`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.object_name import subdomain_problems

TRAINING: Final = "training"
"""Its name unless the program gives another."""
_OF_KUBERNETES: Final = "default"


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


def account_problems(name: object) -> Iterator[Problem]:
    """A name that no service account of ours can have."""
    if name == _OF_KUBERNETES:
        what = "is the one that Kubernetes makes in each namespace"
        yield Problem("service_account", what, got=name, fix="choose another name")
    else:
        yield from subdomain_problems("service_account", name)
