"""Names that JobSet gives pods and claims."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape.object_meta import SUBDOMAIN_PATTERN
from trainer_infra.render import metadata_name
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs, renders
from trainer_infra.rules.shape.renders import Refusal

_NAME: Final = ("metadata", "name")
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", re.ASCII)
_INNER: Final = re.compile(r"[-a-z0-9]+", re.ASCII)


class JobSetName(Parameters):
    """What a runtime must leave room for."""

    name_length: int = 12
    """Characters that a TrainJob's name must be able to have; those that the SDK makes have 12."""


Part = Callable[[Context[JobSetName]], Iterator[Finding]]


def _places_of_names(subject: Subject) -> Iterator[Part]:
    if subject.kind == names.TRAIN_JOB:
        found = (each for each in subject.once(renders.refusals_of) if each.is_of_name)
        yield from (partial(_of_train_job, each) for each in found)
        return
    if subject.kind == names.JOBSET:
        yield partial(_is_label, subject.object.at(*_NAME))
    for spec in pods.jobsets(subject):
        for job in spec["replicatedJobs"].items():
            yield partial(_is_inner, job["name"])
            yield partial(_leaves_room, job)
        for policy in spec["volumeClaimPolicies"].items():
            yield from (partial(_leaves_claim, each) for each in policy["templates"].items())


def _of_train_job(refusal: Refusal, _context: Context[JobSetName]) -> Iterator[Finding]:
    problem = refusal.problem
    yield refusal.value.finding(problem.what, problem.got, problem.fix)


def _is_label(name: Value, _context: Context[JobSetName]) -> Iterator[Finding]:
    # That it is a name at all `schema` says.
    if _SUBDOMAIN.fullmatch(name.text()) and not _LABEL.fullmatch(name.text()):
        fix = "write lower-case letters, digits and -, and begin with a letter"
        yield name.finding("is not a DNS label, as names of pods must be", name.text(), fix)


def _is_inner(name: Value, _context: Context[JobSetName]) -> Iterator[Finding]:
    if name.text() and not _INNER.fullmatch(name.text()):
        what = "is not a part of a DNS label, as names of pods must be"
        yield name.finding(what, name.text(), "write lower-case letters, digits and -")


def _leaves_room(job: Value, context: Context[JobSetName]) -> Iterator[Finding]:
    """The name of the object, or of TrainJobs, fits before what is added for the pods."""
    name, spec = job["name"], job.at("template", "spec")
    if name.text():
        replica, last = _last(job["replicas"]), None
        if spec["completionMode"].text() != "NonIndexed":
            last = max(_last(spec["parallelism"]), _last(spec["completions"]))
        length = metadata_name.suffix_length(name.text(), replica, last)
        yield from _fits(name, metadata_name.LIMIT - length, "pods of the job", context)


def _leaves_claim(template: Value, context: Context[JobSetName]) -> Iterator[Finding]:
    name = template.at(*_NAME)
    if name.text():
        yield from _fits(name, metadata_name.LIMIT - len(f"{name.text()}-"), "claim", context)


def _fits(part: Value, room: int, what: str, context: Context[JobSetName]) -> Iterator[Finding]:
    """Points at the JobSet's own name where there is one, else at the part that is too long."""
    subject = context.subject
    if subject.kind != names.JOBSET:
        if room < context.parameters.name_length:
            least = context.parameters.name_length
            left = f"leaves {max(room, 0)} characters for the names of TrainJobs"
            yield part.finding(left, part.text(), f"shorten it by {least - room}")
        return
    name = subject.object.at(*_NAME)
    if len(name.text()) > room:
        text = f"is too long for the {what} {part.text()!r}: {max(room, 0)} characters are left"
        yield name.finding(text, name.text(), f"shorten it by {len(name.text()) - room}")


def _last(count: Value) -> int:
    """The last of so many indexes; 0 where it is not said."""
    return max((count.number() or 1) - 1, 0)


JOBSET_NAME: Final = Rule(
    id="jobset-name",
    title="Names must leave room for the suffixes of pods and claims",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "names"),
    why=jobs.REFUSED_BY_JOBSET,
    fix="Shorten the name; all parts together may have 63 characters.",
    places=_places_of_names,
    check=lambda part, context: part(context),
    parameters=JobSetName,
)
"""JobSet refuses a JobSet whose longest pod name, `<name>-<job>-<replica>-<index>-<5 characters>`, or
claim name, `<claim>-<name>`, has more than 63 characters or is not a DNS label (RFC 1035): JobSet
v0.12's webhook, reference behaviour 12.3.
"""


_CLAIM_NAME: Final = re.compile(SUBDOMAIN_PATTERN, re.ASCII)


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A template of a claim in a JobSet with these jobs."""

    name: Value
    before: tuple[Value, ...]
    """Names of the claims before it."""
    jobs: Value


def _places_of_claims(subject: Subject) -> Iterator[ClaimTemplate]:
    for spec in pods.jobsets(subject):
        before: tuple[Value, ...] = ()
        for policy in spec["volumeClaimPolicies"].items():
            for template in policy["templates"].items():
                name = template.at("metadata", "name")
                yield ClaimTemplate(name, before, spec["replicatedJobs"])
                before = (*before, name)


def _check_claim(claim: ClaimTemplate, context: Context[Parameters]) -> Iterator[Finding]:
    text = claim.name.text()
    if not _CLAIM_NAME.fullmatch(text):
        fix = "write lower-case letters, digits, - and ."
        yield claim.name.finding("is not a valid claim name", text or None, fix)
        return
    if any(each.raw == text for each in claim.before):
        yield claim.name.finding("is the name of an earlier claim too", text, "rename one of them")
        return
    for job in claim.jobs.items():
        for volume in jobs.pod_spec(job)["volumes"].items():
            if volume["name"].raw == text:
                what = "is the name of a volume claim of the JobSet too"
                yield volume["name"].finding(what, text, "rename one of them")
    specs = (jobs.pod_spec(job) for job in lookup.items(claim.jobs))
    is_complete = context.subject.kind not in names.RUNTIMES
    if is_complete and not any(text in lookup.mounted_volumes(each) for each in specs):
        what = "is mounted by no container"
        yield claim.name.finding(what, text, f"add a volumeMount of the name {text}")


VOLUME_CLAIMS: Final = Rule(
    id="volume-claims",
    title="A JobSet's volume claims must be mounted, and their names must be unique",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "volumes"),
    why=jobs.REFUSED_BY_JOBSET,
    fix="Mount the claim by its name in a container, and give every claim and volume a different name.",
    places=_places_of_claims,
    check=_check_claim,
)
"""JobSet v0.12's webhook, for `volumeClaimPolicies`. That a claim's name leaves room for the JobSet's
is said by `jobset-name`. A runtime's claim may be mounted by a patch of a TrainJob.
"""
