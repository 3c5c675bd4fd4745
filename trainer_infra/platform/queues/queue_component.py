"""What every object of a queue controller is as a component: a name, its resources, what it comes after."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, TypedDict

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import Path, path_text
from trainer_infra.api.shape.object_meta import LABEL_VALUE
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.names import KUEUE_GROUP
from trainer_infra.platform.argument_fields import (
    Fields,
    argument_path,
    at,
    of_argument,
    put_fields,
    refusals,
)
from trainer_infra.platform.argument_problems import NAME, quantity_text, without_repeats
from trainer_infra.platform.component import Options, PlatformComponent, without_none

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
"""The version of Kueue's kinds that the platform writes."""
LABEL_NAME: Final = NAME | {"maxLength": LABEL_VALUE["maxLength"]}
"""The name of an object that jobs name in a label."""
METADATA: Final[Fields] = {"name": at("metadata.name"), "labels": at("metadata.labels")}
WEIGHT: Final = at("spec.fairSharing.weight", quantity_text)


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

    api_version: ClassVar[str] = KUEUE
    kind: ClassVar[str]
    """Of the object, or the first of them."""
    fields: ClassVar[Fields]
    """Where the arguments stand in the object."""
    _fixed: ClassVar[Sequence[str]] = ()
    """Fields with which an object is made anew, because the API server lets none change."""

    def __init__(self, resource_name: str, args: Any, opts: Options) -> None:
        super().__init__(resource_name, args, opts)
        given = without_none(args)
        self.object_name = given.get("name", resource_name)
        with self.sentences():
            objects = tuple(self._objects(given))
            self._judge_all(given, objects)
        anew = pulumi.ResourceOptions(
            replace_on_changes=list(self._fixed), delete_before_replace=bool(self._fixed) or None
        )
        self.resources = self._declare_objects((*objects, *self._secrets(given)), anew)
        # What uses the name comes after the objects.
        made = (each.urn for each in self.resources.values())
        self.name = pulumi.Output.all(self.object_name, *made).apply(lambda all_: str(all_[0]))
        self.register_outputs({"name": self.name})

    @override
    def _references(self, args: Any) -> Iterable[object]:
        """Every argument, and the flavors of a quota."""
        return (*args.values(), *args.get("quota", ()))

    def _judge_all(self, args: Any, objects: Iterable[JSONObject]) -> None:
        found = (problem for each in objects for problem in self._refusals(each, args))
        if problems := [*without_repeats(self._problems(args), found)]:
            raise InvalidInput(problems)

    def _refusals(self, value: JSONObject, args: Any) -> Iterator[Problem]:
        """What a cluster would refuse of an object, said of the arguments."""
        for each in refusals(value):
            argument = self._argument(value, each.path, args)
            # A quota is in groups there: say which list of them it is.
            place = f" in {path_text(each.path)}" if argument == ("quota",) else ""
            told = of_argument(each, argument, self.fields)
            yield replace(told, what=f"{told.what}{place}").problem("")

    def _problems(self, args: Any) -> Iterable[Problem]:  # noqa: ARG002  for a subclass
        """What only the program knows of its arguments."""
        return ()

    def _argument(self, value: JSONObject, path: Path, args: Any) -> Path:
        """The argument at a path of an object; what stands in none is made of the name."""
        fields = {**METADATA, **(self.fields if value["kind"] == self.kind else {})}
        return argument_path(path, args, fields) or ("name",)

    def _objects(self, args: Any) -> Iterable[JSONObject]:
        """The objects that are judged, in wire form."""
        yield self._object(self.kind, args, self.fields, spec={})

    def _secrets(self, args: Any) -> Iterable[JSONObject]:  # noqa: ARG002  for a subclass
        """Objects that are not judged."""
        return ()

    def _check(self, controller: str, args: Any) -> JSONDict:
        """An AdmissionCheck that a controller of Kueue answers, with the component's object for it."""
        parameters = {"apiGroup": KUEUE_GROUP, "kind": self.kind, "name": self.object_name}
        spec = {"controllerName": controller, "parameters": parameters}
        return self._object("AdmissionCheck", args, spec=spec)

    def _object(
        self, kind: str, args: Mapping[str, Any], fields: Fields | None = None, **body: Any
    ) -> JSONDict:
        """An object in wire form; of the component's name unless `args` has another one."""
        made: JSONDict = {"apiVersion": self.api_version, "kind": kind, "metadata": {}, **body}
        return put_fields(made, {"name": self.object_name, **args}, {**METADATA, **(fields or {})})


def name_of(reference: Any) -> Any:
    """The name of an object that a program names, or has as a component."""
    return reference.object_name if isinstance(reference, QueueComponent) else reference


def names_of(references: Iterable[Any]) -> list[Any]:
    """The same of several."""
    return [name_of(each) for each in references]
