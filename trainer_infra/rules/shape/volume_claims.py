"""volume-claims: a container mounts each volume claim of a JobSet, and no other volume has its name.

JobSet v0.12's webhook, for `volumeClaimPolicies`. That a claim's name leaves room for the JobSet's
is said by `jobset-name`. A runtime's claim may be mounted by a patch of a TrainJob.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api.object_meta import SUBDOMAIN_PATTERN
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs

_NAME: Final = re.compile(SUBDOMAIN_PATTERN, re.ASCII)
_CONTAINERS: Final = ("initContainers", "containers")


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A template of a claim."""

    name: Value
    """Its name."""
    before: tuple[Value, ...]
    """Names of the claims before it."""
    jobs: Value
    """The replicated jobs."""


def _places(subject: Subject) -> Iterator[ClaimTemplate]:
    for spec in pods.jobsets(subject):
        before: tuple[Value, ...] = ()
        for policy in spec["volumeClaimPolicies"].items():
            for template in policy["templates"].items():
                name = template.at("metadata", "name")
                yield ClaimTemplate(name, before, spec["replicatedJobs"])
                before = (*before, name)


def _check(claim: ClaimTemplate, context: Context[Parameters]) -> Iterator[Finding]:
    text = claim.name.text()
    if not _NAME.fullmatch(text):
        fix = "write lower-case letters, digits, - and ."
        yield claim.name.finding("is no name of a claim", text or None, fix)
        return
    if any(each.raw == text for each in claim.before):
        yield claim.name.finding("is the name of an earlier claim too", text, "rename one of them")
        return
    for job in claim.jobs.items():
        for volume in jobs.pod_spec(job)["volumes"].items():
            if volume["name"].raw == text:
                what = "is the name of a volume claim of the JobSet too"
                yield volume["name"].finding(what, text, "rename one of them")
    is_complete = context.subject.kind not in names.RUNTIMES
    if is_complete and not any(_mounts(job, text) for job in lookup.items(claim.jobs)):
        what = "is mounted by no container"
        yield claim.name.finding(what, text, f"add a volumeMount of the name {text}")


def _mounts(job: Value, name: str) -> bool:
    spec = jobs.pod_spec(job)
    found = (each for key in _CONTAINERS for each in lookup.items(spec[key]))
    return any(
        mount["name"].text() == name
        for each in found
        for mount in lookup.items(each["volumeMounts"])
    )


RULE: Final = Rule(
    id="volume-claims",
    title="Volume claims of a JobSet are mounted under names of their own",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "volumes"),
    why=(
        "JobSet refuses the JobSet; a TrainJob was admitted before that and waits for ever, with "
        "an event as the only sign."
    ),
    fix="Mount the claim by its name in a container, and give every claim and volume its own.",
    places=_places,
    check=_check,
)
