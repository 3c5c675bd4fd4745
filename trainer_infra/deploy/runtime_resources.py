"""What a Pulumi program constructs for a runtime: TrainingRuntime and ClusterTrainingRuntime.

`TrainJob(runtime=...)` takes one of them. Everything is decided by the provider's check
(`training_runtime`), which also shows what a TrainJob on it renders to.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pulumi
from pulumi import Input
from pulumi.dynamic import ResourceProvider

from trainer_infra import names
from trainer_infra.deploy import outputs, registration
from trainer_infra.deploy.provider import ClusterTrainingRuntimeProvider, TrainingRuntimeProvider
from trainer_infra.deploy.registration import Labels
from trainer_infra.deploy.resource_type import TrainerResource
from trainer_infra.errors import Problem

if TYPE_CHECKING:
    from trainer_infra.api import runtime as api

AnySpec: TypeAlias = (
    "api.TrainingRuntimeSpec | api.TrainingRuntime | api.ClusterTrainingRuntime | Mapping[str, Any]"
)
"""A spec, or a whole runtime, for example one of the catalog's: its spec, labels, annotations."""


class RuntimeResource(TrainerResource):
    """A runtime of either kind."""

    name: pulumi.Output[str]
    """Name that TrainJobs refer to: the resource's unless it was given."""
    spec: pulumi.Output[dict[str, Any]]
    """The runtime's spec in wire form."""
    rendered: pulumi.Output[dict[str, Any]]
    """What a TrainJob `example` on it renders to, by role."""
    uid: pulumi.Output[str]
    """Identity of the object in the cluster; nothing on target local."""

    def _register(
        self,
        provider: ResourceProvider,
        resource_name: str,
        given: Mapping[str, Any],
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        """Register the resource.

        Args:
            provider: Of the kind.
            resource_name: Name of the resource.
            given: `kind`, the runtime as the user gave it, and the options.
            opts: Options of the resource.
        """
        given = outputs.plain_inputs(given)
        where = f"{given['kind']} {resource_name}"
        whole = _whole(given["spec"], where)
        name = given["name"] or resource_name
        metadata = {
            key: given[key] or whole.get("metadata", {}).get(key) or {}
            for key in ("labels", "annotations")
        }
        inputs = {
            **metadata,
            **registration.settings(),
            "kind": given["kind"],
            "name": name,
            "namespace": given.get("namespace"),
            "spec": whole["spec"],
            "adopt": given["adopt"],
            "owner": registration.owner(type(self), resource_name, opts),
            "rendered": None,
            "uid": None,
            "host": None,
        }
        closed = registration.closed(inputs, where)
        super().__init__(provider, resource_name, closed, opts)
        self._object = {
            "apiVersion": names.API_VERSION,
            "kind": given["kind"],
            "metadata": {"name": name, "namespace": given.get("namespace"), **metadata},
        }

    def to_wire(self) -> pulumi.Output[dict[str, Any]]:
        """The runtime as a TrainJob carries it."""
        rest = pulumi.Output.from_input(self._object)
        return pulumi.Output.all(rest, self.spec).apply(_joined)


class TrainingRuntime(RuntimeResource):
    """A runtime for the TrainJobs of one namespace."""

    namespace: pulumi.Output[str]
    """Namespace of the runtime."""

    def __init__(  # noqa: PLR0913  every option is one
        self,
        resource_name: str,
        spec: AnySpec,
        *,
        name: Input[str | None] = None,
        namespace: Input[str] = "default",
        labels: Labels = None,
        annotations: Labels = None,
        adopt: Input[bool] = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a runtime.

        Args:
            resource_name: Name of the resource, and of the runtime unless `name` is given.
            spec: The spec, typed or in wire form; or a whole runtime, of which it is a copy.
            name: Name of the runtime.
            namespace: Namespace of the runtime, and of TrainJobs that refer to it.
            labels: Labels of the runtime; those of the copied one without them.
            annotations: Annotations of the runtime; those of the copied one without them.
            adopt: True takes over a runtime of this name that somebody else made.
            opts: Options of the resource.
        """
        given = {
            "kind": names.TRAINING_RUNTIME,
            "spec": spec,
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": annotations,
            "adopt": adopt,
        }
        self._register(TrainingRuntimeProvider(), resource_name, given, opts)


class ClusterTrainingRuntime(RuntimeResource):
    """A runtime for the TrainJobs of all namespaces."""

    def __init__(  # noqa: PLR0913  every option is one
        self,
        resource_name: str,
        spec: AnySpec,
        *,
        name: Input[str | None] = None,
        labels: Labels = None,
        annotations: Labels = None,
        adopt: Input[bool] = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a runtime.

        Args:
            resource_name: Name of the resource, and of the runtime unless `name` is given.
            spec: The spec, typed or in wire form; or a whole runtime, of which it is a copy.
            name: Name of the runtime.
            labels: Labels of the runtime; those of the copied one without them.
            annotations: Annotations of the runtime; those of the copied one without them.
            adopt: True takes over a runtime of this name that somebody else made.
            opts: Options of the resource.
        """
        given = {
            "kind": names.CLUSTER_TRAINING_RUNTIME,
            "spec": spec,
            "name": name,
            "labels": labels,
            "annotations": annotations,
            "adopt": adopt,
        }
        self._register(ClusterTrainingRuntimeProvider(), resource_name, given, opts)


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
