"""What a policy changed of a resource, kept through a replacement.

A policy changes inputs after `check`; when the engine then replaces the resource, it asks `check`
again and goes on with that answer, so the change is lost and nobody judges what is created (seen
with CLI 3.259). The engine's `diff` comes in between with the changed inputs: they are remembered, and
the second `check` gives them back, or refuses. Called by `provider`, whose process serves one operation.
"""

from collections.abc import Mapping
from typing import Any, Final

from pulumi.dynamic import CheckResult

from trainer_infra.deploy import boundary
from trainer_infra.errors import Problem

JSON = Mapping[str, Any]

_CHANGEABLE: Final = ("spec", "labels", "annotations", "rendered")
"""Inputs that a remediation changes."""
_CHECKED: Final[dict[str, JSON]] = {}
"""Those as `check` gave them last, by URN."""
_REMEDIED: Final[dict[str, tuple[JSON, JSON]]] = {}
"""Those as `check` gave them and as a policy changed them, by URN."""


def kept(result: CheckResult) -> CheckResult:
    """The answer of a check, with what a policy made of the same answer before."""
    urn, answer = _urn(result.inputs), _changeable(result.inputs)
    if urn is None or result.failures:
        return result
    if urn not in _REMEDIED:
        _CHECKED[urn] = answer
        return result
    before, after = _REMEDIED[urn]
    if answer == before:
        return CheckResult({**result.inputs, **after}, [])
    what = "was changed by a policy, and the engine forgets that when it replaces the resource"
    fix = "write into the program what the policy asks for"
    return CheckResult(result.inputs, boundary.failures((Problem("spec", what, fix=fix),)))


def noticed(news: JSON) -> None:
    """Remember what a policy changed of the inputs that `check` gave back."""
    urn, given = _urn(news), _changeable(news)
    checked = None if urn is None else _CHECKED.get(urn)
    if urn is not None and checked is not None and checked != given:
        _REMEDIED[urn] = (checked, given)


def _urn(inputs: JSON) -> str | None:
    owner = inputs.get("owner")
    urn = owner.get("urn") if isinstance(owner, Mapping) else None
    return urn if isinstance(urn, str) else None


def _changeable(inputs: JSON) -> JSON:
    found = {key: boundary.plain(inputs.get(key)) for key in _CHANGEABLE}
    return {key: each for key, each in found.items() if each}
