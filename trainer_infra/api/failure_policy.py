"""`failurePolicy` of a JobSet (JobSet v0.12, KEP-262) and `podFailurePolicy` of a Job (batch/v1, KEP-3329).

What follows when a Job has failed, and what a failed pod means for its Job. Built by users and by
fault_tolerance.py, which puts them on a runtime. The limits are those of JobSet's webhook and of Kubernetes 1.34's
validation, which no schema holds: a mistake would show only when a cluster refuses the object. Actions and
strategies that JobSet has behind feature gates, which are off by default, are refused by name.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Final

from pydantic import StrictInt
from typing_extensions import override

from trainer_infra.api.base import KubeModel
from trainer_infra.api.finding import path_text
from trainer_infra.api.shape import job_forms, jobset_forms
from trainer_infra.api.shape.form import (
    asked,
    every,
    fields,
    found_by,
    items,
    longest,
    number,
    required,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.walk import Schema
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.words import listed, renamed


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
        names = {each.alias or name: name for name, each in type(self).model_fields.items()}
        for each in found_by(self.shape, self.to_wire()):
            path, what = (renamed(said, names) for said in (path_text(each.path), each.what))
            yield Problem(path, what, each.got, each.fix)

    @override
    def to_wire(self) -> JSONDict:
        """The JSON object, defaults included: those of the API differ from place to place."""
        wire: JSONDict = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return wire


FAIL_JOB: Final = "FailJob"
"""The Job fails at once."""
FAIL_INDEX: Final = "FailIndex"
"""Its index fails at once; needs backoffLimitPerIndex."""
IN: Final = "In"
NOT_IN: Final = "NotIn"
DISRUPTION_TARGET: Final = "DisruptionTarget"
"""Condition of a pod that was preempted, evicted or lost with its node (KEP-3329)."""
_HIGHEST: Final = 255
CODES: Final = every(
    longest(job_forms.MOST_CODES), items(number(1, _HIGHEST)), {"x-kubernetes-list-type": "set"}
)
"""Exit codes of failures, in any order."""


class OnExitCodes(CheckedModel):
    """Matches a container that ended with one of some codes, or with none of them."""

    operator: str = IN
    """`In` or `NotIn`."""
    values: tuple[StrictInt, ...]
    """1 to 255 codes in rising order; a container that ended with 0 never matches."""
    container_name: str | None = None
    """A container or init container of the pod; None for any of them."""

    shape: ClassVar[Schema] = every(job_forms.EXIT_CODES, fields(values=items(number(0, _HIGHEST))))


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
    """`Ignore` (the pod is replaced and its failure not counted), `Count` (towards backoffLimit, as without a
    rule), `FailJob` or `FailIndex`."""
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


FAIL: Final = "FailJobSet"
RESTART: Final = "RestartJobSet"
RESTART_FREELY: Final = "RestartJobSetAndIgnoreMaxRestarts"
ACTIONS: Final = (FAIL, RESTART, RESTART_FREELY)
GATED_ACTIONS: Final = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
STRATEGIES: Final = ("Recreate", "BlockingRecreate")
"""Each Job starts anew as soon as its own pods are gone, or none before all pods are gone."""
GATED_STRATEGIES: Final = ("InPlaceRestart",)


def _ungated(known: tuple[str, ...], gated: tuple[str, ...]) -> Schema:
    """One of some words; others are ones that JobSet has switched off."""

    def broken(said: str) -> Broken:
        if said in gated:
            what = "is behind a feature gate of JobSet that is off by default"
            yield BrokenRule((), said, what, f"use {listed(known, 'or')}")
        elif said not in known:
            yield BrokenRule((), said, f"must be {listed(known, 'or')}")

    return asked(broken)


def _compiles(pattern: str) -> Broken:
    try:
        re.compile(pattern)
    except re.error as error:
        yield BrokenRule((), pattern, f"is not a regular expression: {error}")


RESTART_STRATEGY: Final = _ungated(STRATEGIES, GATED_STRATEGIES)
"""How Jobs start anew."""


class FailurePolicyRule(CheckedModel):
    """What follows when a Job fails in one way; every requirement that is given must fit."""

    name: str
    """1 to 128 letters, digits, `_`, `,` and `:`; unique in the policy."""
    action: str
    """`FailJobSet`, `RestartJobSet`, or `RestartJobSetAndIgnoreMaxRestarts`, which does not count."""
    on_job_failure_reasons: tuple[str, ...] | None = None
    """Reasons of the Job's Failed condition; None or empty for any."""
    on_job_failure_message_patterns: tuple[str, ...] | None = None
    """Regular expressions (RE2), one of which is found in that condition's message."""
    target_replicated_jobs: tuple[str, ...] | None = None
    """Replicated jobs that the rule is about; None or empty for every one."""

    shape: ClassVar[Schema] = every(
        required("name"),
        jobset_forms.FAILURE_RULE,
        fields(
            action=_ungated(ACTIONS, GATED_ACTIONS),
            onJobFailureMessagePatterns=items(asked(_compiles)),
        ),
    )


class FailurePolicy(CheckedModel):
    """How often a JobSet starts anew, and after which failures."""

    max_restarts: StrictInt = 0
    """Restarts of all Jobs together until the next failure is final."""
    restart_strategy: str | None = None
    """`Recreate` or `BlockingRecreate`; None means `Recreate`."""
    rules: tuple[FailurePolicyRule, ...] | None = None
    """The first that fits decides; without one the JobSet restarts."""

    shape: ClassVar[Schema] = every(
        fields(maxRestarts=number(0), restartStrategy=RESTART_STRATEGY), jobset_forms.UNIQUE_RULES
    )
