"""Types of our resources, as short as a dynamic provider may have them.

`pulumi up` shows them in the first column, and on 80 columns what a gate says is in what is left of
the line. The package has to be `pulumi-python`, whose plugin serves dynamic providers. Releases
before 0.2 called them `pulumi-python:dynamic/trainer:TrainJob` and so on: an alias keeps what they
made. A program reads outputs by names in Python's style; in the state they have those of the wire.
"""

import re
from typing import Any, Final

import pulumi
from pulumi.dynamic import Resource, ResourceProvider
from typing_extensions import override

from trainer_infra import names
from trainer_infra.deploy.program_value import require_program

_CAPITAL: Final = re.compile(r"(?<!^)([A-Z])")


def python_name(wire: str) -> str:
    """The name of an output as a program has it: `last_seen` for `lastSeen`."""
    return _CAPITAL.sub(r"_\1", wire).lower()


class TrainerResource(Resource):
    """A resource of ours; its class has the type's name, or the longer one of `names.SHORT_TYPES`."""

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the type."""
        super().__init_subclass__(**kwargs)
        short = names.SHORT_TYPES.get(cls.__name__, cls.__name__)
        cls._resource_type_name = f"{names.RESOURCE_TYPE}{short}".partition(":")[2]

    def __init__(
        self,
        provider: ResourceProvider,
        name: str,
        props: dict[str, Any],
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        require_program(f"{type(self).__name__} {name}")
        older = [pulumi.Alias(type_=f"{names.OLDER_RESOURCE_TYPE}{type(self).__name__}")]
        merged = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(aliases=older))
        super().__init__(provider, name, props, merged)
        # The SDK's `translate_output_property` would rename the keys of users' own mappings as well.
        for wire in props.keys() & self.__dict__.keys():
            self.__dict__[python_name(wire)] = self.__dict__.pop(wire)


class RuntimeResource(TrainerResource):
    """A runtime of either kind."""

    _object: dict[str, Any]
    """The runtime without its spec."""
    name: pulumi.Output[str]
    """Name that TrainJobs refer to: the resource's unless it was given."""
    spec: pulumi.Output[dict[str, Any]]
    """The runtime's spec in wire form."""
    rendered: pulumi.Output[dict[str, Any]]
    """What a TrainJob `example` on it renders to, by role."""
    uid: pulumi.Output[str]
    """Identity of the object in the cluster; nothing on target local."""

    def to_wire(self) -> pulumi.Output[dict[str, Any]]:
        """The runtime as a TrainJob carries it."""

        def joined(parts: list[Any]) -> dict[str, Any]:
            rest, spec = parts
            metadata = {key: each for key, each in rest["metadata"].items() if each}
            return {**rest, "metadata": metadata, "spec": spec}

        rest = pulumi.Output.from_input(self._object)
        return pulumi.Output.all(rest, self.spec).apply(joined)


def add_gate(gate: TrainerResource, opts: pulumi.ResourceOptions | None) -> None:
    """Have what depends on the component around a job, by the job's options, wait for the job's gate too.

    Pulumi takes a component for the resources right below it, and a gate is one below its job.
    """
    parent = opts.parent if opts else None
    if isinstance(parent, pulumi.ComponentResource):
        parent._childResources.add(gate)  # noqa: SLF001  the SDK's only door
