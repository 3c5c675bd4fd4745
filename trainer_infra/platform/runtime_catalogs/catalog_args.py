"""The arguments of a RuntimeCatalog."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypedDict

import pulumi

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.json_values import JSONObject


class RuntimeCatalogArgs(TypedDict, total=False):
    """Arguments of a RuntimeCatalog."""

    runtimes: Sequence[str | ClusterTrainingRuntime]
    """Shipped runtimes by their names, and runtimes of your own; all shipped ones unless given."""
    images: Mapping[str, str]
    """Mirrors: the beginning of an image's name to what stands there instead."""
    service_account: str
    """Of pods that name none, for example `training` where every namespace is a Workspace."""
    transform: Callable[[JSONObject], Mapping[str, Any]]
    """Changes each runtime, in wire form, for example `pool.spec.wired_runtime`."""
    versioned: bool | str | Sequence[str]
    """Whether each runtime, or each of those named, has a frozen copy `NAME-CONTENT`; false unless
    given."""
    kubeconfig: pulumi.Input[str]
    """The cluster's kubeconfig, a path or its text, where the program chose a provider of its own;
    otherwise that of `kubernetes:kubeconfig`, or KUBECONFIG."""
    context: str
    """The context in it; the current one unless given."""


EXAMPLES: Final[Mapping[str, str]] = {
    "images": 'images={"ghcr.io/kubeflow": "mirror.example.com/kubeflow"}',
    "runtimes": 'runtimes=["torch-distributed"]',
}
"""What to write of an argument."""
