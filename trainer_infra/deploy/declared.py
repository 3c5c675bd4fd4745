"""What every constructor of a resource of ours works out before it registers the resource.

Called by `resources`, `batch` and `runtime_resources`: secrets split off and code packed, now or
once Outputs are known; the runtime as inputs have it; who declares it, and under which URN.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pulumi
from pulumi.dynamic import Resource

from trainer_infra.deploy import outputs
from trainer_infra.deploy.written import Written, written
from trainer_infra.errors import TrainerInfraError

if TYPE_CHECKING:
    from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
    from trainer_infra.deploy.runtime_resources import RuntimeResource

AnyRuntime: TypeAlias = (
    "str | TrainingRuntime | ClusterTrainingRuntime | RuntimeResource | Mapping[str, Any]"
)
"""What a TrainJob takes as its runtime."""

PARTS: Final = ("spec", "code", "labels", "annotations", "secretData")
"""Inputs that are made of what the user wrote of a job."""


def parts(job: Written) -> dict[str, Any]:
    """Spec, code and secretData: now where everything is known, else when its Outputs are."""
    if not outputs.found_in(job.as_mapping()):
        parts = _written(job)
        secret = parts["secretData"]
        return {**parts, "secretData": pulumi.Output.secret(secret) if secret else None}
    later = outputs.opened(
        job.as_mapping(), lambda plain: _written(Written.from_mapping(plain)), PARTS
    )
    return {**later, "secretData": pulumi.Output.secret(later["secretData"])}


def _written(job: Written) -> dict[str, Any]:
    try:
        return written(job)
    except TrainerInfraError as error:
        # RunError ends the program with the sentence alone, without a traceback.
        raise pulumi.RunError(str(error)) from None


def known_runtime(runtime: AnyRuntime) -> Any:
    """A runtime as inputs have it: its name, or wire form, which of a resource is an Output."""
    return runtime if isinstance(runtime, str | Mapping) else runtime.to_wire()


def owner(kind: type[Resource], name: str, opts: pulumi.ResourceOptions | None) -> dict[str, Any]:
    """Who declares what a resource makes; becomes labels of every object of it."""
    return {
        "project": pulumi.get_project(),
        "stack": pulumi.get_stack(),
        "urn": urn(kind, name, opts),
    }


def urn(kind: type[Resource], name: str, opts: pulumi.ResourceOptions | None) -> pulumi.Output[str]:
    """The URN that the resource will have, which messages to the engine name."""
    parent = opts.parent if opts else None
    return pulumi.resource.create_urn(name, f"pulumi-python:{kind._resource_type_name}", parent)  # noqa: SLF001  Pulumi keeps it there
