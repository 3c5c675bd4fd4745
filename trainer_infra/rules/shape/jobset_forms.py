"""jobset-forms: a JobSet's subdomain, manager and groups are written as JobSet demands, its pods can be counted.

JobSet v0.12's webhook: subdomain and group name are DNS labels (RFC 1035), the manager is a path
below a domain (apimachinery, `IsDomainPrefixedPath`), and replicas times parallelism is an int32.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.render import metadata_name
from trainer_infra.rules import pods
from trainer_infra.rules.name_syntax import DOMAIN_PATH
from trainer_infra.rules.rule import Finding, Parameters, Rule, Severity, Subject, Value

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_MOST_PODS: Final = 2**31 - 1

Part = Callable[[], Iterator[Finding]]


def _places(subject: Subject) -> Iterator[Part]:
    for spec in pods.jobsets(subject):
        yield partial(_is_label, spec.at("network", "subdomain"))
        yield partial(_is_manager, spec["managedBy"])
        for job in spec["replicatedJobs"].items():
            yield partial(_is_label, job["groupName"])
            yield partial(_is_counted, job)


def _is_label(value: Value) -> Iterator[Finding]:
    text = value.text()
    if not value.is_there() or (not text and value.path[-1] == "subdomain"):
        return
    if len(text) > metadata_name.LIMIT or not _LABEL.fullmatch(text):
        what = f"is not a DNS label of at most {metadata_name.LIMIT} characters"
        fix = "write lower-case letters, digits and -, and begin with a letter"
        yield value.finding(what, text, fix)


def _is_manager(value: Value) -> Iterator[Finding]:
    text = value.text()
    if value.is_there() and not DOMAIN_PATH.fits(text):
        what = f"is not a domain and a path of at most {metadata_name.LIMIT} characters"
        yield value.finding(what, text, "write it as example.com/manager, or remove it")


def _is_counted(job: Value) -> Iterator[Finding]:
    each = job.at("template", "spec", "parallelism").number()
    replicas = job["replicas"].number()
    count = (1 if each is None else each) * (1 if replicas is None else replicas)
    if count > _MOST_PODS:
        what = f"makes {count} pods with parallelism, and there can be {_MOST_PODS}"
        yield job["replicas"].finding(what, replicas, "lower one of the two")


RULE: Final[Rule[Part, Parameters]] = Rule(
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
    places=_places,
    check=lambda part, _context: part(),
)
