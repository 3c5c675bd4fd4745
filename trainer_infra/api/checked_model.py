"""A part of a runtime that is checked in full when it is built in Python.

pod_failure_policy.py and failure_policy.py derive from `CheckedModel`: their
limits are Kubernetes' and JobSet's own admission rules, which no schema holds, so that a mistake
would show only when a cluster refuses the object.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from trainer_infra.api.base import KubeModel
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict


class CheckedModel(KubeModel):
    """A model whose values are judged at once; building a wrong one raises InvalidInput."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        found = tuple(self.problems())
        if found:
            raise InvalidInput(replace(each, where=type(self).__name__) for each in found)

    def problems(self) -> Iterator[Problem]:
        """What is wrong with the values, with paths from this object."""
        yield from ()

    @override
    def to_wire(self) -> JSONDict:
        """The JSON object, defaults included: those of the API differ from place to place."""
        wire: JSONDict = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return wire


def one_of(path: str, value: str, known: Sequence[str]) -> Iterator[Problem]:
    """A problem when a word is none of those known."""
    if value not in known:
        yield Problem(path, f"must be {' or '.join(known)}", value)


def at_most(path: str, items: Sequence[Any], most: int) -> Iterator[Problem]:
    """A problem when a list is too long."""
    if len(items) > most:
        yield Problem(path, f"must have at most {most} items, has {len(items)}")
