"""`num_nodes`, `num_proc_per_node`, `resources_per_node`: counts and amounts of the pods. Pure."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api import quantity
from trainer_infra.api.input import is_stand_in
from trainer_infra.errors import Problem

SHORT: Final = {"gpu": "nvidia.com/gpu", "storage": "ephemeral-storage"}
VERBATIM: Final = frozenset({"requests", "limits", "claims"})


def whole_number(path: str, value: Any) -> Iterator[Problem]:
    """A count that is none."""
    if value is None or is_stand_in(value):
        return
    if type(value) is not int or value < 1:
        yield Problem(path, "must be a whole number from 1", got=value, independent=True)


def resource_requirements(resources: Mapping[str, Any]) -> dict[str, Any]:
    """ResourceRequirements with equal requests and limits; one that has them already as it is."""
    if VERBATIM & resources.keys():
        return dict(resources)
    # The published schema knows whole numbers and text, no fractions.
    amounts = {
        SHORT.get(name, name): str(amount) if isinstance(amount, float) else amount
        for name, amount in resources.items()
    }
    return {"requests": amounts, "limits": dict(amounts)}


def resource_problems(resources: Mapping[str, Any]) -> Iterator[Problem]:
    """Amounts that are none, and two notations at once."""
    if VERBATIM & resources.keys():
        for name in resources.keys() - VERBATIM:
            what = "stands beside requests or limits"
            fix = "move it into both, or give amounts only"
            yield Problem(f"resources_per_node.{name}", what, fix=fix)
        return
    for name, amount in resources.items():
        path = f"resources_per_node.{name}"
        if SHORT.get(name, name) != name and SHORT[name] in resources:
            yield Problem(path, f"is the same as {SHORT[name]}", fix="keep one of them")
        if isinstance(amount, bool) or not isinstance(amount, str | int | float):
            fix = 'give a number, or a text such as "4Gi"'
            yield Problem(path, "is not an amount", got=amount, fix=fix)
        elif isinstance(amount, float) and not math.isfinite(amount):
            yield Problem(path, "is not an amount", got=amount, fix="give a finite number")
        elif isinstance(amount, str) and not is_stand_in(amount) and not _is_quantity(amount):
            meant = quantity.nearest_quantity(amount)
            fix = f"did you mean {meant}?" if meant else ""
            yield Problem(path, f"must be {quantity.WORDS}", got=amount, fix=fix)


def _is_quantity(amount: str) -> bool:
    try:
        quantity.parse_quantity(amount)
    except ValueError:
        return False
    return True
