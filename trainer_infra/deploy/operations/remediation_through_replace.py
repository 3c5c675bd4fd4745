"""What a policy changed of a resource, kept through a replacement.

A policy changes inputs after `check`; when the engine then replaces the resource, it asks `check`
again and goes on with that answer, so the change is lost and no policy judges what is created (seen
with CLI 3.259). The engine's `diff` comes in between with the changed inputs: they are remembered,
and the second `check` gives them back, or refuses.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from trainer_infra.deploy.operations.answers import CheckAnswer
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.values import plain_json
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject

_CHANGEABLE: Final = ("spec", "labels", "annotations", "rendered")
"""Inputs that a remediation changes."""


def with_remediation(answer: CheckAnswer, session: StackSession) -> CheckAnswer:
    """The answer of a check, with what a policy made of the same answer before."""
    urn, given = _urn(answer.inputs), _changeable(answer.inputs)
    if urn is None or answer.problems:
        return answer
    if urn not in session.remedied:
        session.checked[urn] = given
        return answer
    before, after = session.remedied[urn]
    if given == before:
        return replace(answer, inputs={**answer.inputs, **after})
    what = "was changed by a policy, and the engine forgets that when it replaces the resource"
    fix = "write into the program what the policy asks for"
    return replace(answer, problems=(Problem("spec", what, fix=fix),))


def remember_remediation(news: JSONObject, session: StackSession) -> None:
    """Keep what a policy changed of the inputs that `check` gave back."""
    urn, given = _urn(news), _changeable(news)
    checked = None if urn is None else session.checked.get(urn)
    if urn is not None and checked is not None and checked != given:
        session.remedied[urn] = (checked, given)


def _urn(inputs: JSONObject) -> str | None:
    owner = inputs.get("owner")
    urn = owner.get("urn") if isinstance(owner, Mapping) else None
    return urn if isinstance(urn, str) else None


def _changeable(inputs: JSONObject) -> JSONObject:
    return {key: plain_json(inputs[key]) for key in _CHANGEABLE if inputs.get(key)}
