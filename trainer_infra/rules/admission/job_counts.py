"""job-counts: a Job counts pods, tries and seconds as Kubernetes can.

Source: Kubernetes' validation of Jobs (`validateJobSpec`, `ValidateJob`, `validateGeneratedSelector`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra.rules.admission import field, job_specs
from trainer_infra.rules.admission.job_specs import JobSpec
from trainer_infra.rules.name_syntax import DNS_LABEL, DOMAIN_PATH
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_MOST: Final = 100_000
"""Pods of an Indexed Job at a time, and its indexes that may fail."""
_MANY: Final = 100_000
"""Completions from which on the limits of an index are tighter."""
_MOST_OF_MANY: Final = 10_000
_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_INDEXED: Final = ("backoffLimitPerIndex", "maxFailedIndexes")
_MODES: Final = ("Indexed", "NonIndexed")
_LONGEST: Final = 63
_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_UIDS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_SPEC: Final = field.fields(
    {
        **dict.fromkeys(_COUNTS, field.number(0)),
        "completionMode": field.choice(*_MODES, is_optional=False),
        "managedBy": field.text(DOMAIN_PATH, is_optional=False),
    }
)


@dataclass(frozen=True, slots=True)
class NamedJob:
    """A Job, and the name that is its own."""

    job: JobSpec
    """The Job."""
    name: Value | None
    """Its name; None where its controller makes that."""


def _places(subject: Subject) -> Iterator[NamedJob]:
    name = subject.object.at("metadata", "name") if subject.kind == "Job" else None
    for job in job_specs.job_specs(subject):
        yield NamedJob(job, name)


def _check(place: NamedJob, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_job(place), context)


def _of_job(place: NamedJob) -> Iterator[Finding]:
    job = place.job
    yield from field.found_in(job.spec, _SPEC)
    yield from field.found_in(job.spec, lambda _: _of_indexes(job))
    yield from field.found_in(job.spec, _of_selector)
    yield from field.found_in(job.spec, lambda spec: _of_labels(spec, place.name))
    if place.name is not None:
        yield from field.found_in(place.name, lambda name: _of_name(name, job))


def _of_indexes(job: JobSpec) -> Iterator[Finding]:
    each_index, failed = (job.spec[key] for key in _INDEXED)
    if failed.is_there() and not each_index.is_there():
        yield each_index.finding("is required beside maxFailedIndexes")
    if not job.is_indexed:
        for value in (each_index, failed):
            if value.is_there():
                yield value.finding("needs completionMode: Indexed", value.number())
        return
    parallel, completions = job.spec["parallelism"], job.spec["completions"]
    # Of a Job without both Kubernetes makes one pod.
    if parallel.is_there() and not completions.is_there() and not job.is_filled:
        fix = f"write {parallel.number()}: so many pods there are"
        yield completions.finding("is required beside parallelism in an Indexed Job", None, fix)
    yield from _limits(job)


def _limits(job: JobSpec) -> Iterator[Finding]:
    parallel, completions = job.spec["parallelism"], job.spec["completions"]
    each_index, failed = (job.spec[key] for key in _INDEXED)
    yield from _at_most(parallel, _MOST, "in an Indexed Job")
    yield from _at_most(failed, _MOST, "in an Indexed Job")
    if completions.is_there() and failed.is_there():
        yield from _at_most(failed, completions.number() or 0, "as there are completions")
    if (completions.number() or 0) > _MANY and each_index.is_there():
        where = f"where there are more than {_MANY} completions"
        if not failed.is_there():
            yield failed.finding(f"is required {where}")
        yield from _at_most(parallel, _MOST_OF_MANY, where)
        yield from _at_most(failed, _MOST_OF_MANY, where)


def _at_most(value: Value, most: int, where: str) -> Iterator[Finding]:
    count = value.number()
    if count is not None and count > most:
        yield value.finding(f"must be at most {most} {where}", count)


def _of_name(name: Value, job: JobSpec) -> Iterator[Finding]:
    """The name is a label's value, and with the index that of a host."""
    text = name.text()
    last = (job.spec["completions"].number() or 1) - 1
    if job.is_indexed and text and not DNS_LABEL.fits(f"{text}-{last}"):
        what = f"with the last index, {last}, must be {DNS_LABEL.words}"
        yield name.finding(what, text)
    elif len(text) > _LONGEST:
        what = f"must have at most {_LONGEST} characters, as the label of its pods has it"
        yield name.finding(what, text)


def _of_labels(spec: Value, name: Value | None) -> Iterator[Finding]:
    """Kubernetes labels the pods for its own selector."""
    labels = spec.at("template", "metadata", "labels")
    if not labels.is_there() or spec["manualSelector"].flag():
        return
    for key in (*_NAMES, *_UIDS):
        is_right = key in _NAMES and name is not None and labels[key].text() == name.text()
        if labels[key].is_there() and not is_right:
            what = "is written by Kubernetes alone"
            yield labels[key].finding(what, labels[key].text(), "leave it out")


def _of_selector(spec: Value) -> Iterator[Finding]:
    """Kubernetes makes the selector, unless the Job says that it has one of its own."""
    selector, labels = spec["selector"], spec.at("template", "metadata", "labels")
    is_own = spec["manualSelector"].flag()
    if is_own and not selector.is_there():
        yield selector.finding("is required beside manualSelector")
    elif selector.is_there() and not is_own:
        yield selector.finding("is made by Kubernetes alone", None, "remove it")
    for key, value in selector["matchLabels"].fields() if is_own else ():
        if labels[key].text() != value.text() or not labels[key].is_there():
            yield value.finding("is no label of the pods", value.text())


RULE: Final = Rule(
    id="job-counts",
    title="A Job counts pods, tries and seconds as Kubernetes can",
    severity=Severity.HIGH,
    kinds=job_specs.KINDS,
    tags=("admission", "jobs"),
    why="The API server refuses the Job, or JobSet cannot make it; nothing ever runs.",
    fix="Write counts from 0 on, and completions beside parallelism in an Indexed Job.",
    places=_places,
    check=_check,
)
