"""`failurePolicy` of a JobSet (JobSet v0.12, KEP-262): what follows when a Job has failed.

Built by users and by fault_tolerance.py, which puts it on a runtime. The limits are those of
JobSet's webhook. Actions and strategies that JobSet has behind feature gates, which are off by
default, are refused by name.
"""

import re
from collections.abc import Iterator
from typing import Final

from pydantic import StrictInt
from typing_extensions import override

from trainer_infra import names
from trainer_infra.api import checked_model
from trainer_infra.api.checked_model import CheckedModel
from trainer_infra.errors import Problem

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

REASONS: Final = tuple(
    reason
    for reason, _ in (
        names.BACKOFF_LIMIT,
        names.JOB_DEADLINE,
        names.FAILED_INDEXES,
        names.MAX_FAILED_INDEXES,
        (names.POD_FAILURE_POLICY, ""),
    )
)
"""Why a Job can have failed (batch/v1)."""

LONGEST_NAME: Final = 128
NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", re.ASCII)
"""What a rule's name is."""


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

    @override
    def problems(self) -> Iterator[Problem]:
        """A name, action, reason or pattern that JobSet does not take."""
        if not NAME.fullmatch(self.name) or len(self.name) > LONGEST_NAME:
            what = (
                f"must be 1 to {LONGEST_NAME} letters, digits, _, comma and :, begin with a letter"
            )
            yield Problem("name", f"{what} and end with none of , and :", self.name)
        yield from _ungated("action", self.action, ACTIONS, GATED_ACTIONS)
        for position, reason in enumerate(self.on_job_failure_reasons or ()):
            yield from checked_model.one_of(f"onJobFailureReasons[{position}]", reason, REASONS)
        for position, pattern in enumerate(self.on_job_failure_message_patterns or ()):
            path = f"onJobFailureMessagePatterns[{position}]"
            try:
                re.compile(pattern)
            except re.error as error:
                yield Problem(path, f"is not a regular expression: {error}", pattern)


class FailurePolicy(CheckedModel):
    """How often a JobSet starts anew, and after which failures."""

    max_restarts: StrictInt = 0
    """Restarts of all Jobs together until the next failure is final."""
    restart_strategy: str | None = None
    """`Recreate` or `BlockingRecreate`; None means `Recreate`."""
    rules: tuple[FailurePolicyRule, ...] | None = None
    """The first that fits decides; without one the JobSet restarts."""

    @override
    def problems(self) -> Iterator[Problem]:
        """A negative count, a gated strategy, or a rule's name that is there twice."""
        if self.max_restarts < 0:
            yield Problem("maxRestarts", "must be at least 0", self.max_restarts)
        if self.restart_strategy is not None:
            yield from restart_strategy("restartStrategy", self.restart_strategy)
        found = [each.name for each in self.rules or ()]
        for position, name in enumerate(found):
            if name in found[:position]:
                yield Problem(f"rules[{position}].name", "is there twice", name)


def restart_strategy(path: str, value: str) -> Iterator[Problem]:
    """A problem when a restart strategy is unknown, or is one that JobSet has switched off."""
    yield from _ungated(path, value, STRATEGIES, GATED_STRATEGIES)


def _ungated(
    path: str, value: str, known: tuple[str, ...], gated: tuple[str, ...]
) -> Iterator[Problem]:
    if value in gated:
        what = "is behind a feature gate of JobSet that is off by default"
        yield Problem(path, what, value, f"use {' or '.join(known)}")
    else:
        yield from checked_model.one_of(path, value, known)
