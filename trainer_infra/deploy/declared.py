"""What every constructor of a resource of ours works out before it registers the resource.

Called by `resources`, `batch` and `runtime_resources`: secrets split off and code packed, now or
once Outputs are known; the runtime as inputs have it; who declares it, and under which URN.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pulumi
from pulumi.dynamic import Resource

from trainer_infra.deploy import outputs, secret_door, secret_transform, surrogates, targets
from trainer_infra.deploy.written import Written, written
from trainer_infra.errors import Problem, TrainerInfraError
from trainer_infra.trainers.secret import Secret

if TYPE_CHECKING:
    from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
    from trainer_infra.deploy.runtime_resources import RuntimeResource

AnyRuntime: TypeAlias = (
    "str | TrainingRuntime | ClusterTrainingRuntime | RuntimeResource | Mapping[str, Any]"
)
"""What a TrainJob takes as its runtime."""

PARTS: Final = ("runtime", "spec", "code", "labels", "annotations", "secretData")
"""Inputs that are made of what the user wrote of a job."""

SETTINGS: Final[Mapping[str, Callable[[pulumi.Config, str], Any]]] = {
    "target": pulumi.Config.get,
    "engine": pulumi.Config.get,
    "plugins": pulumi.Config.get_object,
}
"""Keys of `trainer:` in the stack's configuration, and how each is read."""


def parts(job: Written, where: str) -> dict[str, Any]:
    """Runtime, spec, code and secretData: now where everything is known, else when its Outputs are.

    Args:
        job: what the user wrote.
        where: the resource, as an error names it: `TrainJob digits`.
    """
    whole = job.as_mapping()

    def judge(plain: Mapping[str, Any]) -> None:
        _refuse(secret_door.misplaced_arguments(plain), where)

    def made(plain: Written) -> dict[str, Any]:
        found = _written(plain)
        _refuse(surrogates.problems(found), where)
        return found

    if not outputs.found_in(whole):
        judge(whole)
        parts = made(job)
        secret = parts["secretData"]
        return {**parts, "secretData": pulumi.Output.secret(secret) if secret else None}
    later = outputs.opened(whole, judge, lambda plain: made(Written.from_mapping(plain)), PARTS)
    return {**later, "secretData": pulumi.Output.secret(later["secretData"])}


def _written(job: Written) -> dict[str, Any]:
    try:
        return written(job)
    except TrainerInfraError as error:
        # RunError ends the program with the sentence alone, without a traceback.
        raise pulumi.RunError(str(error)) from None


def closed(inputs: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The inputs, none of which can be secret, or a text that cannot be encoded.

    Args:
        inputs: of a resource, without those of `parts`, which are judged there.
        where: the resource, as an error names it: `TrainJob digits`.
    """

    def judge(plain: Mapping[str, Any]) -> None:
        _refuse(secret_door.misplaced(plain, ""), where)
        _refuse(surrogates.problems(plain), where)

    given = {key: value for key, value in inputs.items() if key not in {"owner", "urn"}}
    later = {key: value for key, value in given.items() if outputs.found_in(value)}
    judge({key: value for key, value in given.items() if key not in later})
    for key, value in later.items():
        given |= outputs.opened({key: value}, judge, dict, (key,))
    return {**inputs, **given}


def _refuse(problems: Iterator[Problem], where: str) -> None:
    if found := [str(replace(each, where=where)) for each in problems]:
        raise pulumi.RunError("\n".join(found))


def settings() -> dict[str, Any]:
    """What the stack's configuration says of every resource of ours.

    A target has no default, so that nobody trains on a machine by accident; its engine has one.
    """
    secret = (key for key in SETTINGS if pulumi.runtime.is_config_secret(f"trainer:{key}"))
    _refuse((secret_door.problem(f"trainer:{key}") for key in secret), "stack configuration")
    config = pulumi.Config("trainer")
    found = {key: read(config, key) for key, read in SETTINGS.items()}
    if found["target"] == targets.KUBERNETES:
        found["engine"] = found["engine"] or targets.PROVIDER
    return found


def known_runtime(runtime: AnyRuntime) -> Any:
    """A runtime as inputs have it: its name, or wire form, which of a resource is an Output."""
    plain = (str, Mapping, pulumi.Output, Secret)
    return runtime if isinstance(runtime, plain) else runtime.to_wire()


def owner(kind: type[Resource], name: str, opts: pulumi.ResourceOptions | None) -> dict[str, Any]:
    """Who declares what a resource makes; becomes labels of every object of it.

    Which backend the stack is in, the provider finds out (`backend`).
    """
    return {
        "organization": pulumi.get_organization(),
        "project": pulumi.get_project(),
        "stack": pulumi.get_stack(),
        "urn": urn(kind, name, opts),
    }


def urn(kind: type[Resource], name: str, opts: pulumi.ResourceOptions | None) -> pulumi.Output[str]:
    """The URN that the resource will have, which messages to the engine name."""
    parent = opts.parent if opts else None
    made = pulumi.resource.create_urn(name, f"pulumi-python:{kind._resource_type_name}", parent)  # noqa: SLF001  Pulumi keeps it there
    return secret_transform.last(made, opts)
