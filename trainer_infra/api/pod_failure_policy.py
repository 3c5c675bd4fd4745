"""`podFailurePolicy` of a Job (batch/v1, KEP-3329): what a failed pod means for its Job.

Built by users and by fault_tolerance.py, which puts it on a runtime. The limits are those of
Kubernetes 1.34, `validatePodFailurePolicy`; the first rule that matches decides.
"""

import re
from collections.abc import Iterator
from typing import Final

from pydantic import StrictInt
from typing_extensions import override

from trainer_infra.api import checked_model
from trainer_infra.api.checked_model import CheckedModel
from trainer_infra.errors import Problem

IGNORE: Final = "Ignore"
"""The pod is replaced and its failure not counted."""
COUNT: Final = "Count"
"""Its failure counts towards backoffLimit, as without a rule."""
FAIL_JOB: Final = "FailJob"
"""The Job fails at once."""
FAIL_INDEX: Final = "FailIndex"
"""Its index fails at once; needs backoffLimitPerIndex."""

IN: Final = "In"
NOT_IN: Final = "NotIn"
DISRUPTION_TARGET: Final = "DisruptionTarget"
"""Condition of a pod that was preempted, evicted or lost with its node (KEP-3329)."""

MOST_RULES: Final = 20
MOST_VALUES: Final = 255
MOST_PATTERNS: Final = 20
HIGHEST_EXIT_CODE: Final = 255
_CONDITION_TYPE: Final = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?")


class OnExitCodes(CheckedModel):
    """Matches a container that ended with one of some codes, or with none of them."""

    operator: str = IN
    """`In` or `NotIn`."""
    values: tuple[StrictInt, ...]
    """1 to 255 codes in rising order; a container that ended with 0 never matches."""
    container_name: str | None = None
    """A container or init container of the pod; None for any of them."""

    @override
    def problems(self) -> Iterator[Problem]:
        """A wrong operator, and codes that the API server refuses."""
        yield from checked_model.one_of("operator", self.operator, (IN, NOT_IN))
        yield from exit_codes("values", self.values, lowest=0 if self.operator == NOT_IN else 1)
        if list(self.values) != sorted(self.values):
            yield Problem("values", "must be in rising order", list(self.values))
        if not self.values:
            yield Problem("values", "must have at least 1 item")


class OnPodCondition(CheckedModel):
    """Matches a pod that has a condition."""

    type: str
    """The condition, for example `DisruptionTarget`."""
    status: str = "True"
    """`True`, `False` or `Unknown`."""

    @override
    def problems(self) -> Iterator[Problem]:
        """A type that is no name of a condition, or a wrong status."""
        if not _CONDITION_TYPE.fullmatch(self.type):
            yield Problem("type", f"must be a name such as {DISRUPTION_TARGET}", self.type)
        yield from checked_model.one_of("status", self.status, ("True", "False", "Unknown"))


class PodFailurePolicyRule(CheckedModel):
    """What one kind of failure means."""

    action: str
    """`Ignore`, `Count`, `FailJob` or `FailIndex`."""
    on_exit_codes: OnExitCodes | None = None
    """Matches by exit code."""
    on_pod_conditions: tuple[OnPodCondition, ...] | None = None
    """Matches when one of these does; at most 20."""

    @override
    def problems(self) -> Iterator[Problem]:
        """A wrong action; both requirements, or none."""
        yield from checked_model.one_of(
            "action", self.action, (IGNORE, COUNT, FAIL_JOB, FAIL_INDEX)
        )
        if (self.on_exit_codes is None) == (not self.on_pod_conditions):
            yield Problem("", "must have either onExitCodes or onPodConditions")
        yield from checked_model.at_most(
            "onPodConditions", self.on_pod_conditions or (), MOST_PATTERNS
        )


class PodFailurePolicy(CheckedModel):
    """Rules by which a Job judges its failed pods; its pods' restartPolicy must be Never."""

    rules: tuple[PodFailurePolicyRule, ...]
    """At most 20; the first that matches decides, and a failure without one counts."""

    @override
    def problems(self) -> Iterator[Problem]:
        """Too many rules."""
        yield from checked_model.at_most("rules", self.rules, MOST_RULES)


def exit_codes(path: str, values: tuple[int, ...], lowest: int) -> Iterator[Problem]:
    """What is wrong with a list of exit codes in any order.

    Args:
        path: the list's field path.
        values: the codes.
        lowest: the least code allowed.
    """
    for position, value in enumerate(values):
        if not lowest <= value <= HIGHEST_EXIT_CODE:
            what = f"must be from {lowest} to {HIGHEST_EXIT_CODE}"
            yield Problem(f"{path}[{position}]", what, value)
        if value in values[:position]:
            yield Problem(f"{path}[{position}]", "is there twice", value)
    yield from checked_model.at_most(path, values, MOST_VALUES)
