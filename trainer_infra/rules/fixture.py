"""Good and bad examples of a rule, as data: what tests, documentation and `rules test` run.

A file `<rule id>.yaml` has `cases`: objects that are `good` (the first is judged, the others are
there beside it), and what makes the first one `bad`: another value at one path, which is exactly
the path that the rule must name. `parameters` and `pools` are as in a configuration.
"""

from pathlib import Path as FilePath
from typing import Any, Final, Self

import yaml
from pydantic import model_validator

from trainer_infra.api.base import KubeModel
from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONDict
from trainer_infra.rules import patch
from trainer_infra.rules.finding import REMOVED
from trainer_infra.rules.pool import Pool

FOLDER: Final = FilePath(__file__).parent / "fixtures"
"""Where the examples of our rules are."""


class Bad(KubeModel):
    """What makes the good object a bad one."""

    path: Path
    """The one field in which the two differ."""
    value: Any = None
    """What stands there in the bad one; None where nothing does."""


class Case(KubeModel):
    """One example."""

    name: str
    """What it shows, a noun phrase."""
    good: tuple[JSONDict, ...]
    """The object that is judged, and those that are there beside it."""
    bad: Bad
    """What makes it a bad one."""
    parameters: JSONDict | None = None
    """The rule's parameters; None for its own."""
    pools: tuple[Pool, ...] = ()
    """Machines that there are."""

    def objects(self, *, is_good: bool) -> tuple[JSONDict, ...]:
        """The objects of one of the two."""
        first, *others = self.good
        return (first if is_good else with_value_at(first, self.bad.path, self.bad.value), *others)


class Cases(KubeModel):
    """The examples of a rule."""

    cases: tuple[Case, ...]
    """At least one."""

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not self.cases:
            raise ValueError("must have at least 1 case")
        return self


def with_value_at(value: Any, path: Path, other: Any) -> Any:
    """A copy with another value at a path, or without one where that is None."""
    return patch.with_value(value, path, REMOVED if other is None else other)


def shipped_cases(rule: str) -> tuple[Case, ...]:
    """The examples of one of our rules."""
    text = (FOLDER / f"{rule}.yaml").read_text(encoding="utf-8")
    return Cases.model_validate(yaml.load(text, Loader=yaml.CSafeLoader)).cases
