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
"""Inputs as `check` gave them last, by URN."""
_REMEDIED: Final[dict[str, tuple[JSON, JSON]]] = {}
"""Inputs as `check` gave them and as a policy changed them, by URN."""


def kept(result: CheckResult) -> CheckResult:
    """The answer of a check, with what a policy made of the same answer before."""
    inputs = boundary.plain(result.inputs)
    urn = _urn(inputs)
    if not isinstance(urn, str) or result.failures:
        return result
    if urn not in _REMEDIED:
        _CHECKED[urn] = inputs
        return result
    before, after = _REMEDIED[urn]
    if _changeable(inputs) == _changeable(before):
        return CheckResult({**result.inputs, **_changeable(after)}, [])
    what = "was changed by a policy, and the engine forgets that when it replaces the resource"
    fix = "write into the program what the policy asks for"
    return CheckResult(result.inputs, boundary.failures((Problem("spec", what, fix=fix),)))


def noticed(news: JSON) -> None:
    """Remember what a policy changed of the inputs that `check` gave back."""
    urn = _urn(news)
    checked = _CHECKED.get(urn) if isinstance(urn, str) else None
    if checked is not None and _changeable(checked) != _changeable(news):
        _REMEDIED[str(urn)] = (checked, boundary.plain(news))


def _urn(inputs: JSON) -> Any:
    owner = inputs.get("owner")
    return owner.get("urn") if isinstance(owner, Mapping) else None


def _changeable(inputs: JSON) -> dict[str, Any]:
    return {key: inputs[key] for key in _CHANGEABLE if inputs.get(key)}
