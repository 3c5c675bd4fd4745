"""`podFailurePolicy` of a Job (batch/v1, KEP-3329): what a failed pod means for its Job.

Built by users and by fault_tolerance.py, which puts it on a runtime. The limits are those of
Kubernetes 1.34, `validatePodFailurePolicy`; the first rule that matches decides.
"""

from typing import ClassVar, Final

from pydantic import StrictInt

from trainer_infra.api.checked_model import CheckedModel
from trainer_infra.api.shape import job_forms
from trainer_infra.api.shape.form import asked, every, fields, items, longest, number
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.walk import Schema

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

_HIGHEST: Final = 255


def _once(codes: list[int]) -> Broken:
    for position, code in enumerate(codes):
        if code in codes[:position]:
            yield BrokenRule((position,), code, "is a duplicate; values must be unique")


CODES: Final = every(longest(job_forms.MOST_CODES), items(number(1, _HIGHEST)), asked(_once))
"""Exit codes of failures, in any order."""


class OnExitCodes(CheckedModel):
    """Matches a container that ended with one of some codes, or with none of them."""

    operator: str = IN
    """`In` or `NotIn`."""
    values: tuple[StrictInt, ...]
    """1 to 255 codes in rising order; a container that ended with 0 never matches."""
    container_name: str | None = None
    """A container or init container of the pod; None for any of them."""

    shape: ClassVar[Schema] = every(
        job_forms.EXIT_CODES, fields(values=every(items(number(0, _HIGHEST)), asked(_once)))
    )


class OnPodCondition(CheckedModel):
    """Matches a pod that has a condition."""

    type: str
    """The condition, for example `DisruptionTarget`."""
    status: str = "True"
    """`True`, `False` or `Unknown`."""

    shape: ClassVar[Schema] = job_forms.CONDITION


class PodFailurePolicyRule(CheckedModel):
    """What one kind of failure means."""

    action: str
    """`Ignore`, `Count`, `FailJob` or `FailIndex`."""
    on_exit_codes: OnExitCodes | None = None
    """Matches by exit code."""
    on_pod_conditions: tuple[OnPodCondition, ...] | None = None
    """Matches when one of these does; at most 20."""

    shape: ClassVar[Schema] = job_forms.FAILURE_RULE


class PodFailurePolicy(CheckedModel):
    """Rules by which a Job judges its failed pods; its pods' restartPolicy must be Never."""

    rules: tuple[PodFailurePolicyRule, ...]
    """At most 20; the first that matches decides, and a failure without one counts."""

    shape: ClassVar[Schema] = job_forms.POD_FAILURE_POLICY
