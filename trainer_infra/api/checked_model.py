"""A part of a runtime that is checked in full when it is built in Python.

pod_failure_policy.py, fault_tolerance.py and failure_policy.py derive from `CheckedModel`: their
limits are Kubernetes' and JobSet's own admission rules, which no schema holds, so that a mistake
would show only when a cluster refuses the object.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from typing_extensions import override

from trainer_infra.api.base import KubeModel
from trainer_infra.api.shape.form import with_form
from trainer_infra.api.shape.walk import FormWalk, Schema
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict


class CheckedModel(KubeModel):
    """A model whose values are judged at once; building a wrong one raises InvalidInput."""

    shape: ClassVar[Schema] = {}
    """What its JSON object must be beyond the types of its fields."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        found = tuple(self.problems())
        if found:
            raise InvalidInput(replace(each, where=type(self).__name__) for each in found)

    def problems(self) -> Iterator[Problem]:
        """What is wrong with the values, with paths from this object."""
        walk = FormWalk()
        walk.check(self.to_wire(), with_form({}, self.shape, {}), ())
        yield from (each.problem("") for each in walk.found)

    @override
    def to_wire(self) -> JSONDict:
        """The JSON object, defaults included: those of the API differ from place to place."""
        wire: JSONDict = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return wire
