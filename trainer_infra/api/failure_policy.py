"""`failurePolicy` of a JobSet (JobSet v0.12, KEP-262): what follows when a Job has failed.

Built by users and by fault_tolerance.py, which puts it on a runtime. The limits are those of
JobSet's webhook. Actions and strategies that JobSet has behind feature gates, which are off by
default, are refused by name.
"""

import re
from typing import ClassVar, Final

from pydantic import StrictInt

from trainer_infra.api.checked_model import CheckedModel
from trainer_infra.api.shape import form, jobset_forms
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.walk import Schema
from trainer_infra.words import listed

FAIL: Final = "FailJobSet"
RESTART: Final = "RestartJobSet"
RESTART_FREELY: Final = "RestartJobSetAndIgnoreMaxRestarts"
ACTIONS: Final = (FAIL, RESTART, RESTART_FREELY)
GATED_ACTIONS: Final = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")

RECREATE: Final = "Recreate"
"""Each Job starts anew as soon as its own pods are gone."""
BLOCKING_RECREATE: Final = "BlockingRecreate"
"""No Job starts anew before all pods are gone."""
STRATEGIES: Final = (RECREATE, BLOCKING_RECREATE)
GATED_STRATEGIES: Final = ("InPlaceRestart",)


def _ungated(known: tuple[str, ...], gated: tuple[str, ...]) -> Schema:
    """One of some words; others are ones that JobSet has switched off."""

    def broken(said: str) -> Broken:
        if said in gated:
            what = "is behind a feature gate of JobSet that is off by default"
            yield BrokenRule((), said, what, f"use {listed(known, 'or')}")
        elif said not in known:
            yield BrokenRule((), said, f"must be {listed(known, 'or')}")

    return form.asked(broken)


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

    shape: ClassVar[Schema] = form.every(
        form.required("name"),
        jobset_forms.FAILURE_RULE,
        form.fields(
            action=_ungated(ACTIONS, GATED_ACTIONS),
            onJobFailureMessagePatterns=form.items(form.asked(_compiles)),
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

    shape: ClassVar[Schema] = form.every(
        form.fields(maxRestarts=form.number(0), restartStrategy=RESTART_STRATEGY),
        jobset_forms.UNIQUE_RULES,
    )
