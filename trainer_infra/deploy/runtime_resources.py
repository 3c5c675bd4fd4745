"""What a Pulumi program constructs for a runtime: TrainingRuntime and ClusterTrainingRuntime.

`TrainJob(runtime=...)` takes one of them. Everything is decided by the provider's check
(`operations.training_runtime`), which also shows what a TrainJob on it renders to.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

import pulumi
from pulumi import Input

from trainer_infra import names
from trainer_infra.deploy import outputs, registration
from trainer_infra.deploy.provider import (
    ClusterTrainingRuntimeProvider,
    Provider,
    TrainingRuntimeProvider,
)
from trainer_infra.deploy.registration import Labels
from trainer_infra.deploy.resource_type import TrainerResource
from trainer_infra.errors import Problem

if TYPE_CHECKING:
    from trainer_infra.api import runtime as api

AnySpec: TypeAlias = (
    "api.TrainingRuntimeSpec | api.TrainingRuntime | api.ClusterTrainingRuntime | Mapping[str, Any]"
)
"""A spec, or a whole runtime, for example one of the catalog's: its spec, labels, annotations."""


class RuntimeOptions(TypedDict, total=False):
    """What may be said of a runtime of either kind."""

    name: Input[str | None]
    """Name of the runtime."""
    labels: Labels
    """Labels of the runtime; those of the copied one without them."""
    annotations: Labels
    """Annotations of the runtime; those of the copied one without them."""
    adopt: Input[bool]
    """True takes over a runtime of this name that somebody else made."""
    opts: pulumi.ResourceOptions | None
    """Options of the resource."""


class RuntimeResource(TrainerResource):
    """A runtime of either kind."""

    _runtime_kind = ""
    _provider_class: type[Provider]

    name: pulumi.Output[str]
    """Name that TrainJobs refer to: the resource's unless it was given."""
    spec: pulumi.Output[dict[str, Any]]
    """The runtime's spec in wire form."""
    rendered: pulumi.Output[dict[str, Any]]
    """What a TrainJob `example` on it renders to, by role."""
    uid: pulumi.Output[str]
    """Identity of the object in the cluster; nothing on target local."""

    def __init__(  # noqa: PLR0913  every option is one
        self,
        resource_name: str,
        spec: AnySpec,
        namespace: Input[str] | None,
        *,
        name: Input[str | None] = None,
        labels: Labels = None,
        annotations: Labels = None,
        adopt: Input[bool] = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        where = f"{self._runtime_kind} {resource_name}"
        whole = _whole(outputs.plain_inputs(spec), where)
        given = {"labels": labels, "annotations": annotations}
        metadata = {
            key: outputs.plain_inputs(each) or whole.get("metadata", {}).get(key) or {}
            for key, each in given.items()
        }
        name = outputs.plain_inputs(name) or resource_name
        namespace = outputs.plain_inputs(namespace)
        inputs = {
            **metadata,
            **registration.stack_settings(),
            "kind": self._runtime_kind,
            "name": name,
            "namespace": namespace,
            "spec": whole["spec"],
            "adopt": adopt,
            "owner": registration.owner_inputs(type(self), resource_name, opts),
            "rendered": None,
            "uid": None,
            "host": None,
        }
        closed = registration.closed_inputs(inputs, where)
        super().__init__(self._provider_class(), resource_name, closed, opts)
        self._object = {
            "apiVersion": names.API_VERSION,
            "kind": self._runtime_kind,
            "metadata": {"name": name, "namespace": namespace, **metadata},
        }

    def to_wire(self) -> pulumi.Output[dict[str, Any]]:
        """The runtime as a TrainJob carries it."""
        rest = pulumi.Output.from_input(self._object)
        return pulumi.Output.all(rest, self.spec).apply(_joined)


class TrainingRuntime(RuntimeResource):
    """A runtime for the TrainJobs of one namespace."""

    _runtime_kind = names.TRAINING_RUNTIME
    _provider_class = TrainingRuntimeProvider
    namespace: pulumi.Output[str]
    """Namespace of the runtime."""

    def __init__(
        self,
        resource_name: str,
        spec: AnySpec,
        *,
        namespace: Input[str] = "default",
        **options: Unpack[RuntimeOptions],
    ) -> None:
        """Declare a runtime.

        Args:
            resource_name: Name of the resource, and of the runtime unless `name` is given.
            spec: The spec, typed or in wire form; or a whole runtime, of which it is a copy.
            namespace: Namespace of the runtime, and of TrainJobs that refer to it.
            options: See `RuntimeOptions`.
        """
        super().__init__(resource_name, spec, namespace, **options)


class ClusterTrainingRuntime(RuntimeResource):
    """A runtime for the TrainJobs of all namespaces."""

    _runtime_kind = names.CLUSTER_TRAINING_RUNTIME
    _provider_class = ClusterTrainingRuntimeProvider

    def __init__(
        self, resource_name: str, spec: AnySpec, **options: Unpack[RuntimeOptions]
    ) -> None:
        """Declare a runtime.

        Args:
            resource_name: Name of the resource, and of the runtime unless `name` is given.
            spec: The spec, typed or in wire form; or a whole runtime, of which it is a copy.
            options: See `RuntimeOptions`.
        """
        super().__init__(resource_name, spec, None, **options)


def _whole(spec: Any, where: str) -> Mapping[str, Any]:
    """What was given, as an object with a `spec`."""
    if not isinstance(spec, Mapping) and not hasattr(type(spec), "to_wire"):
        what = "must be a runtime or its spec, typed or in wire form"
        fix = f"write catalog.get({spec!r})" if isinstance(spec, str) else ""
        raise pulumi.RunError(str(Problem("spec", what, got=spec, fix=fix, where=where)))
    wire = spec if isinstance(spec, Mapping) else spec.to_wire()
    return wire if "spec" in wire else {"spec": wire}


def _joined(parts: list[Any]) -> dict[str, Any]:
    rest, spec = parts
    metadata = {key: each for key, each in rest["metadata"].items() if each}
    return {**rest, "metadata": metadata, "spec": spec}
