"""What all typed kinds share: the base model, object metadata and the wire form.

Every class of trainjob.py and runtime.py derives from `KubeModel`, the three kinds from `Kind`. What is written in
YAML is checked against the published schema (schema.py) before a model is made of it; a model built in Python is
checked by its types, and by the schema when its wire form is read.
"""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    StrictInt,
    ValidationError,
    model_serializer,
)
from pydantic.alias_generators import to_camel

from trainer_infra.api.finding import Path, path_text
from trainer_infra.api.shape import schema
from trainer_infra.api.shape.walk import nearest_name
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.names import API_VERSION

_WORDS: Final = {
    "missing": "is required",
    "extra_forbidden": "unknown field",
    "int": "must be a whole number",
    "float": "must be a number",
    "enum": "is not one of the known words",
    "date": "must be a day, written as 2027-01-31",
    "string": "must be a string",
    "bool": "must be true or false",
    "tuple": "must be a list",
    "dict": "must be an object",
    "model": "must be an object",
    "greater": "is too small",
}
"""Words by pydantic's error type, or by its part before the underscore."""

_BUILDING: Final[ContextVar[bool]] = ContextVar("building", default=False)
"""Whether a model is being built around this one."""


class KubeModel(BaseModel):
    """One object of the API: frozen, snake_case here, camelCase on the wire, no unknown fields.

    Building one from values of the wrong type raises InvalidInput with every problem found.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        protected_namespaces=(),
        defer_build=True,
    )

    def __init__(self, **given: Any) -> None:
        if _BUILDING.get():
            # A part of another one, which tells what is wrong with paths from itself.
            super().__init__(**given)
            return
        token = _BUILDING.set(True)
        try:
            super().__init__(**given)
        except ValidationError as error:
            fields = type(self).model_fields
            raise InvalidInput(model_problems(error, fields)) from None
        finally:
            _BUILDING.reset(token)

    def to_wire(self) -> JSONDict:
        """The JSON object as it was given: fields never set, and those set to None, are left out.

        The result is the caller's own: changing it changes no model.
        """
        wire: JSONDict = self.model_dump(
            mode="json", by_alias=True, exclude_unset=True, exclude_none=True
        )
        return wire


class ObjectMeta(KubeModel):
    """Kubernetes' ObjectMeta: what a user writes and what the API server adds, kept verbatim."""

    name: str = ""
    """Name within the namespace; empty while only `generate_name` is given."""
    generate_name: str | None = None
    """Prefix from which the API server makes a name."""
    namespace: str | None = None
    """Namespace; None for the caller's default, and for cluster-scoped kinds."""
    labels: dict[str, str] | None = None
    """Labels, which selectors read."""
    annotations: dict[str, str] | None = None
    """Annotations, which selectors do not read."""
    finalizers: tuple[str, ...] | None = None
    """Who must agree before the object goes."""
    owner_references: tuple[JSONDict, ...] | None = None
    """Objects whose deletion deletes this one."""
    uid: str | None = None
    """Identity over all time, given by the API server."""
    resource_version: str | None = None
    """Opaque version of the stored object."""
    generation: StrictInt | None = None
    """Counts changes of the spec."""
    creation_timestamp: str | None = None
    """RFC 3339 time at which it was stored."""
    deletion_timestamp: str | None = None
    """RFC 3339 time from which the object is being deleted."""
    deletion_grace_period_seconds: StrictInt | None = None
    """Seconds between that time and removal."""
    managed_fields: tuple[JSONDict, ...] | None = None
    """Which manager set which field."""
    self_link: str | None = None
    """Written by old API servers; has no meaning."""


class Kind(KubeModel):
    """A top-level object with apiVersion, kind and metadata."""

    schema_name: ClassVar[str]
    """Name of the kind, and of its schema in schema.py."""

    api_version: str = API_VERSION
    """Always `trainer.kubeflow.org/v1alpha1`."""
    kind: str
    """Always the class's own."""
    metadata: ObjectMeta
    """Name, namespace, labels and annotations."""

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> JSONDict:
        given: JSONDict = handler(self)
        return {"apiVersion": self.api_version, "kind": self.kind} | given

    @classmethod
    def from_wire(cls, value: Mapping[str, Any], where: str = "") -> Self:
        """Read an object that a user or an API server wrote at a place; apiVersion and kind may be left out.

        Everything is kept as it is, except that fields that are null count as not set.

        Raises:
            InvalidInput: with every problem found, in the order in which the fields are written.
        """
        found = schema.schema_findings(value, cls.schema_name)
        if found:
            raise InvalidInput(finding.problem(where) for finding in found)
        return cls.of_valid(value)

    @classmethod
    def of_valid(cls, value: Mapping[str, Any]) -> Self:
        """The typed form of an object in which schema.py found nothing wrong."""
        return cls.model_validate(without_nulls(value))


def without_nulls(value: Any) -> Any:
    """A copy without fields that are null: to the API server, too, they are not set."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [without_nulls(item) for item in value]
    return value


def model_problems(error: ValidationError, fields: dict[str, Any]) -> Iterator[Problem]:
    """Pydantic's errors as problems of a model with these fields."""
    for each in error.errors(include_url=False):
        path: Path = each["loc"]
        # A validator of ours says it itself.
        own = each["msg"].removeprefix("Value error, ")
        what = _WORDS.get(each["type"]) or _WORDS.get(each["type"].split("_")[0]) or own
        unknown = each["type"] == "extra_forbidden"
        fix = nearest_name(str(path[-1]), fields) if unknown and len(path) == 1 else ""
        got = None if unknown or each["type"] == "missing" else each["input"]
        yield Problem(path_text(path), what, got, fix, where=error.title)
