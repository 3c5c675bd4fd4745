"""gpu-quota: all pods of a job together fit into the quota of its namespace.

The quota is that of each ResourceQuota without scopes, of which the extended resources count here
(`requests.nvidia.com/gpu`), and that of the parameter.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import rule
from trainer_infra.rules.placement import amounts, nodes
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_PREFIX: Final = "requests."
_SCOPES: Final = ("scopes", "scopeSelector")


class GpuQuota(Parameters):
    """How much a job may ask for."""

    namespaces: dict[str, dict[str, str | int]] | None = None
    """By namespace, the most of each resource, `nvidia.com/gpu: 16`; None for ResourceQuotas alone."""


def _check(_place: Value, context: Context[GpuQuota]) -> Iterator[Finding]:
    quotas = _quotas(context) if context.subject.namespace else {}
    if not quotas:
        return
    subject = context.subject
    asked = [(pod, amounts.amounts_of(pod, subject)) for pod in nodes.pods_together(subject)]
    total = amounts.sum_of_pods((nodes.count(pod), each) for pod, each in asked)
    for resource, whole in total.items():
        most = quotas.get(resource, whole)
        if whole > most:
            pod, own = max(asked, key=lambda each: each[1].get(resource, 0))
            single = own[resource]
            is_one = single > most
            where = amounts.place(pod, resource) if is_one else nodes.count_place(pod, subject)
            what = (
                f"makes {amounts.amount_text(resource, whole)} {resource} in all, more than the quota "
                f"of {amounts.amount_text(resource, most)} of namespace {subject.namespace}"
            )
            yield where.finding(what, where.raw, _fix(resource, single, most))


def _fix(resource: str, single: int, most: int) -> str:
    if single > most:
        return f"ask for at most {amounts.amount_text(resource, most)} of {resource}"
    return (
        f"use at most {most // single} nodes of {amounts.amount_text(resource, single)} {resource}"
    )


def _quotas(context: Context[GpuQuota]) -> amounts.Amounts:
    """The least of each resource that a quota allows."""
    found: amounts.Amounts = {}
    for resource, most in (*_configured(context), *_declared(context)):
        found[resource] = min(most, found.get(resource, most))
    return found


def _configured(context: Context[GpuQuota]) -> Iterator[tuple[str, int]]:
    quotas = (context.parameters.namespaces or {}).get(context.subject.namespace, {})
    for resource, written in quotas.items():
        most = amounts.configured_amount(written)
        if most is not None:
            yield resource, most


def _declared(context: Context[GpuQuota]) -> Iterator[tuple[str, int]]:
    for quota in context.world.of_kind(names.RESOURCE_QUOTA, context.subject.namespace):
        spec = quota.object["spec"]
        if any(spec[each].is_there() for each in _SCOPES):
            continue
        for name, amount in spec["hard"].fields():
            most = amounts.read_amount(amount)
            if name.startswith(_PREFIX) and "/" in name and most is not None:
                yield name.removeprefix(_PREFIX), most


RULE: Final = Rule(
    id="gpu-quota",
    title="All pods of a job together fit into the quota of its namespace",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("capacity", "gpu", "quota"),
    why="Some of the pods are refused, and the others hold their GPUs and wait for them for ever.",
    fix="Use fewer nodes or GPUs, or have the quota raised.",
    places=rule.whole,
    check=_check,
    looks_around=True,
    parameters=GpuQuota,
)
