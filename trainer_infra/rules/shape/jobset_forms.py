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
    title="Subdomain, manager, groups and pods of a JobSet are such as JobSet takes",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "names"),
    why=(
        "JobSet refuses the JobSet; a TrainJob was admitted before that and waits for ever, with "
        "an event as the only sign."
    ),
    fix="Write DNS labels, a manager such as example.com/manager, and fewer pods than 2^31.",
    places=partial(faults.findings_of, "jobset-forms"),
    check=lambda finding, _context: (finding,),
)
