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
from trainer_infra.deploy.resource_type import RuntimeResource
from trainer_infra.deploy.train_job_arguments import Labels
from trainer_infra.errors import Problem

if TYPE_CHECKING:
    from trainer_infra.api import runtime as api
    from trainer_infra.api.wire_types.training_runtime import TrainingRuntimeSpecArgs

    AnySpec: TypeAlias = (
        TrainingRuntimeSpecArgs
        | api.TrainingRuntimeSpec
        | api.TrainingRuntime
        | api.ClusterTrainingRuntime
    )
    """A spec, in wire form or typed, or a whole runtime, for example one of the catalog's: its spec,
    labels, annotations."""


class ClusterTrainingRuntimeArgs(TypedDict, total=False):
    """Arguments of a ClusterTrainingRuntime beside its spec."""

    name: Input[str | None]
    """Name of the runtime."""
    labels: Labels
    """Labels of the runtime; those of the copied one without them."""
    annotations: Labels
    """Annotations of the runtime; those of the copied one without them."""
    adopt: Input[bool]
    """True takes over a runtime of this name that another program made."""


class TrainingRuntimeArgs(ClusterTrainingRuntimeArgs, total=False):
    """Arguments of a TrainingRuntime beside its spec."""

    namespace: Input[str]
    """Namespace of the runtime, and of TrainJobs that refer to it; the stack's (`trainer:namespace`), else
    `default`, without it."""


class _DeclaredRuntime(RuntimeResource):
    """Declares a runtime of either kind."""

    _runtime_kind: str
    _provider_class: type[Provider]
    _arguments: type

    def __init__(
        self,
        resource_name: str,
        spec: "AnySpec",
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[TrainingRuntimeArgs],
    ) -> None:
        """Declare a runtime.

        Args:
            resource_name: Name of the resource, and of the runtime unless `name` is given.
            spec: The spec, typed or in wire form; or a whole runtime, of which it is a copy.
            opts: Options of the resource.
            args: See `TrainingRuntimeArgs` and `ClusterTrainingRuntimeArgs`.
        """
        where = f"{self._runtime_kind} {resource_name}"
        registration.refuse_unknown_arguments(args, self._arguments, where)
        whole = _whole(outputs.plain_inputs(spec), where)
        copied = whole.get("metadata", {})
        metadata = {
            key: outputs.plain_inputs(args.get(key)) or copied.get(key) or {}
            for key in ("labels", "annotations")
        }
        name = outputs.plain_inputs(args.get("name")) or resource_name
        namespace = None
        if self._runtime_kind == names.TRAINING_RUNTIME:
            given = args.get("namespace", registration.default_namespace())
            namespace = outputs.plain_inputs(given)
        inputs = {
            **metadata,
            **registration.stack_settings(),
            "kind": self._runtime_kind,
            "name": name,
            "namespace": namespace,
            "spec": whole["spec"],
            "adopt": args.get("adopt", False),
            "owner": registration.owner_inputs(type(self), resource_name, opts),
            **dict.fromkeys(("rendered", "uid", "host")),
        }
        closed = registration.closed_inputs(inputs, where)
        registration.claim_objects(self._runtime_kind, [closed], self, where)
        super().__init__(self._provider_class(), resource_name, closed, opts)
        self._object = {
            "apiVersion": names.API_VERSION,
            "kind": self._runtime_kind,
            "metadata": {"name": name, "namespace": namespace, **metadata},
        }


class TrainingRuntime(_DeclaredRuntime):
    """A runtime for the TrainJobs of one namespace."""

    _runtime_kind = names.TRAINING_RUNTIME
    _provider_class = TrainingRuntimeProvider
    _arguments = TrainingRuntimeArgs
    namespace: pulumi.Output[str]
    """Namespace of the runtime."""


class ClusterTrainingRuntime(_DeclaredRuntime):
    """A runtime for the TrainJobs of all namespaces."""

    _runtime_kind = names.CLUSTER_TRAINING_RUNTIME
    _provider_class = ClusterTrainingRuntimeProvider
    _arguments = ClusterTrainingRuntimeArgs

    def __init__(
        self,
        resource_name: str,
        spec: "AnySpec",
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ClusterTrainingRuntimeArgs],
    ) -> None:
        """Declare a runtime as a `TrainingRuntime` is, but without a namespace."""
        super().__init__(resource_name, spec, opts=opts, **args)


def _whole(spec: Any, where: str) -> Mapping[str, Any]:
    """What was given, as an object with a `spec`."""
    if not isinstance(spec, Mapping) and not hasattr(type(spec), "to_wire"):
        what = "must be a runtime or its spec, typed or in wire form"
        fix = f"write catalog.get({spec!r})" if isinstance(spec, str) else ""
        raise pulumi.RunError(str(Problem("spec", what, got=spec, fix=fix, where=where)))
    wire = spec if isinstance(spec, Mapping) else spec.to_wire()
    return wire if "spec" in wire else {"spec": wire}
