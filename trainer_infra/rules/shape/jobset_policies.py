"""What JobSet v0.12's webhook demands of a JobSet's policies, and of how its fields are written.

What each policy may consist of is in the schemas, and `schema` says it; names of rules and reasons
are forms (api/shape/jobset_forms.py).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.rules import faults, pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs

_MOST_RESTARTED: Final = 1024
"""Replicas of a job where single jobs restart: JobSet counts the restarts of each in its status."""
_RESTART_JOB: Final = "RestartJob"


class JobSetPolicies(Parameters):
    """What is switched on in the JobSet of the cluster."""

    feature_gates: tuple[str, ...] = ()
    """Its alpha gates that are on: RestartJob, InPlaceRestart."""


Part = Callable[[Context[JobSetPolicies]], Iterator[Finding]]


def _places(subject: Subject) -> Iterator[Part]:
    for finding in faults.findings_of("jobset-policies", subject):
        yield partial(_found, finding)
    for spec in pods.jobsets(subject):
        policy = spec["failurePolicy"]
        yield partial(_trains_first, spec)
        targets = [*spec.at("successPolicy", "targetReplicatedJobs").items()]
        yield partial(_has_gate, policy["restartStrategy"], failure_policy.GATED_STRATEGIES)
        for rule in policy["rules"].items():
            yield partial(_restarts, rule["action"], spec["replicatedJobs"])
            targets.extend(rule["targetReplicatedJobs"].items())
        for each in targets:
            yield partial(_is_job, each, spec["replicatedJobs"])


def _found(finding: Finding, _context: Context[JobSetPolicies]) -> Iterator[Finding]:
    yield finding


def _trains_first(spec: Value, _context: Context[JobSetPolicies]) -> Iterator[Finding]:
    """The JobSet is not complete by a job that only comes before others."""
    operator, targets = (
        spec["successPolicy"][each] for each in ("operator", "targetReplicatedJobs")
    )
    if operator.text() != "Any":
        return
    enough = {each.text() for each in lookup.items(targets)}
    for name in jobs.needed(spec):
        if not enough or name in enough:
            what = f"completes the JobSet once {name!r} has ended, before the jobs that wait for it"
            yield operator.finding(what, "Any", "write All, or target the job that trains")
            return


def _is_job(target: Value, found: Value, _context: Context[JobSetPolicies]) -> Iterator[Finding]:
    is_known = all(each["name"].text() for each in found.items())
    if target.text() and is_known and lookup.item_named(found, target.text()) is None:
        yield target.finding("is the name of no job", target.text(), jobs.name_one(found))


def _restarts(action: Value, found: Value, context: Context[JobSetPolicies]) -> Iterator[Finding]:
    if action.text() not in failure_policy.GATED_ACTIONS:
        return
    if _RESTART_JOB not in context.parameters.feature_gates:
        yield from _gate_is_off(action, _RESTART_JOB)
        return
    for job in found.items():
        replicas = job["replicas"]
        if (replicas.number() or 1) > _MOST_RESTARTED:
            what = f"is more than {_MOST_RESTARTED}, and a failure rule restarts single jobs"
            yield replicas.finding(what, replicas.number(), "lower it, or restart the JobSet")


def _has_gate(
    strategy: Value, gated: tuple[str, ...], context: Context[JobSetPolicies]
) -> Iterator[Finding]:
    if strategy.text() in gated and strategy.text() not in context.parameters.feature_gates:
        yield from _gate_is_off(strategy, strategy.text())


def _gate_is_off(value: Value, gate: str) -> Iterator[Finding]:
    what = f"is refused as long as JobSet's feature gate {gate} is off, as it is from the start"
    fix = f"choose another, or name {gate} in the rule's parameter featureGates"
    yield value.finding(what, value.text(), fix)


JOBSET_POLICIES: Final = Rule(
    id="jobset-policies",
    title="Success and failure policies must name existing jobs and valid reasons and actions",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "restarts"),
    why=jobs.REFUSED_BY_JOBSET,
    fix="Name replicated jobs of the same JobSet, and use JobSet's own failure reasons and actions.",
    places=_places,
    check=lambda part, context: part(context),
    parameters=JobSetPolicies,
)
"""Success and failure policies name jobs, failures and actions that JobSet has, and a job for whose end
another one waits does not complete the JobSet. The actions and the
strategy that are behind feature gates are refused as long as those are off.
"""


JOBSET_FORMS: Final[Rule[Finding, Parameters]] = Rule(
    id="jobset-forms",
    title="Subdomain, manager, groups and pod count of a JobSet must be valid",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "names"),
    why=jobs.REFUSED_BY_JOBSET,
    fix="Use DNS labels, a manager such as example.com/manager, and fewer than 2^31 pods.",
    places=partial(faults.findings_of, "jobset-forms"),
    check=lambda finding, _context: (finding,),
)
"""Subdomain and group name are DNS labels (RFC 1035), the manager is a path below a domain (apimachinery,
`IsDomainPrefixedPath`), and replicas times parallelism is an int32. The forms are in
api/shape/workloads.py.
"""
