"""jobset-forms: a JobSet's subdomain, manager and groups are written as JobSet demands, its pods can be counted.

JobSet v0.12's webhook: subdomain and group name are DNS labels (RFC 1035), the manager is a path
below a domain (apimachinery, `IsDomainPrefixedPath`), and replicas times parallelism is an int32. The forms are in
api/shape/workloads.py.
"""

from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.rules import faults
from trainer_infra.rules.rule import Finding, Parameters, Rule, Severity

RULE: Final[Rule[Finding, Parameters]] = Rule(
    id="jobset-forms",
    title="Subdomain, manager, groups and pod count of a JobSet must be valid",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "names"),
    why=(
        "JobSet rejects the JobSet. The TrainJob was already admitted, so it waits forever, and an "
        "event is the only sign."
    ),
    fix="Use DNS labels, a manager such as example.com/manager, and fewer than 2^31 pods.",
    places=partial(faults.findings_of, "jobset-forms"),
    check=lambda finding, _context: (finding,),
)
