"""What every object of a queue controller is as a component: a name, its resources, what it comes after."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypedDict

import pulumi

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import NAME, ArgumentProblems
from trainer_infra.platform.component import PlatformComponent, without_none
from trainer_infra.platform.manifests.object_resources import Resources

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
"""The version of Kueue's kinds that the platform writes."""
STOP_POLICIES: Final = ("None", "Hold", "HoldAndDrain")
"""What a queue does with jobs: admit them, admit no more, or evict those that run as well."""


class QueueArgs(TypedDict, total=False):
    """Arguments of every object."""

    name: str
    """The object's name; the resource's unless given."""
    labels: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    """Labels of the object."""


class QueueComponent(PlatformComponent):
    """An object that a queue controller reads, as a component."""

    name: pulumi.Output[str]
    """The object's name, once it is there."""
    object_name: str
    """The same, as the program knows it before anything is made."""
    resources: Resources
    """Its objects, by `Kind/name` or `Kind/namespace/name`."""

    _name_shape: ClassVar[JSONObject] = NAME
    _fixed: ClassVar[Sequence[str]] = ()
    """Fields with which an object is made anew, because the API server lets none change."""

    def __init__(self, resource_name: str, args: Any, opts: pulumi.ResourceOptions | None) -> None:
        """Judge the arguments, and declare the objects after those that they name.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            args: the component's; one that is None is not given.
            opts: Options of the component.
        """
        super().__init__(resource_name, args, opts)
        given = without_none(args)
        self.object_name = given.get("name", resource_name)
        with self.sentences():
            self._judge_all(given)
        anew = pulumi.ResourceOptions(
            replace_on_changes=list(self._fixed), delete_before_replace=bool(self._fixed) or None
        )
        self.resources = self._declare_objects(self._objects(given), anew)
        # What uses the name comes after the objects.
        made = (each.urn for each in self.resources.values())
        self.name = pulumi.Output.all(self.object_name, *made).apply(lambda all_: str(all_[0]))
        self.register_outputs({"name": self.name})

    def _judge_all(self, args: Any) -> None:
        problems = ArgumentProblems()
        problems.judge_text(("name",), self.object_name, self._name_shape)
        problems.judge_labels(("labels",), args.get("labels", {}))
        self._judge(problems, args)
        problems.end()

    @abstractmethod
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        """Find what is wrong with the arguments of this kind."""

    @abstractmethod
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        """The objects, in wire form."""

    def _object(self, kind: str, args: QueueArgs, name: str = "", **body: Any) -> JSONDict:
        """An object of Kueue, in wire form; of the component's name unless it has another one."""
        metadata: JSONDict = {"name": name or self.object_name}
        if "labels" in args:
            metadata["labels"] = args["labels"]
        return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, **body}


def name_of(reference: Any) -> Any:
    """The name of an object that a program names, or has as a component."""
    return reference.object_name if isinstance(reference, QueueComponent) else reference


def judge_reference(
    problems: ArgumentProblems,
    path: Path,
    reference: object,
    *kinds: type[QueueComponent],
    shape: JSONObject = NAME,
) -> None:
    """An object that a program names, or has as a component.

    Args:
        problems: where to say what is wrong.
        path: where it stands.
        reference: the name or the component.
        kinds: what it may be.
        shape: of the name.
    """
    if isinstance(reference, QueueComponent) and not isinstance(reference, kinds):
        words = " or ".join(each.__name__ for each in kinds)
        problems.add(path, f"must be a {words}, or the name of one", type(reference).__name__)
    else:
        problems.judge_text(path, name_of(reference), shape)


def given_fields(args: Any, **fields: str) -> JSONDict:
    """The arguments that a program gives, by their names in wire form.

    Args:
        args: the component's, or a mapping inside them.
        fields: by the argument's name the field's.
    """
    return {wire: args[argument] for argument, wire in fields.items() if argument in args}
