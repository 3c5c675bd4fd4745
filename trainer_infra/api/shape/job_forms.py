"""Forms of a Job: counts, what ends it, and how its pods restart.

Source: Kubernetes' validation of Jobs (`validateJobSpec`, `ValidateJob`, `validateGeneratedSelector`,
`validatePodFailurePolicy`, `validateSuccessPolicy`, `validatePodReplacementPolicy`), of v1.34. What JobSet fills in
where nothing is written: v0.12's webhook. What the trainer fills in of a runtime: reference behaviour 3.1.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from trainer_infra.api.shape.form import (
    JSON,
    asked,
    at,
    choice,
    every,
    fields,
    items,
    longest,
    needs,
    number,
    part_of,
    prefixed,
    required,
    text,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.syntax import DNS_LABEL, DOMAIN_PATH, QUALIFIED_NAME
from trainer_infra.api.shape.walk import Schema
from trainer_infra.names import ANCESTOR_LABEL
from trainer_infra.words import listed

_MOST: Final = 100_000
"""Pods of an Indexed Job at a time, and its indexes that may fail."""
_MANY: Final = 100_000
"""Completions from which on the limits of an index are tighter."""
_MOST_OF_MANY: Final = 10_000
_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_EACH_INDEX: Final = "backoffLimitPerIndex"
_FAILED_INDEXES: Final = "maxFailedIndexes"
_INDEXED: Final = "Indexed"
_LONGEST: Final = 63
_NAMES: Final = ("job-name", "batch.kubernetes.io/job-name")
_UIDS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_FAIL_INDEX: Final = "FailIndex"
_RULES: Final = 20
MOST_CODES: Final = 255
_IN: Final = "In"
_FAILED: Final = "Failed"
_INDEX: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NEVER: Final = "Never"
RESTART_POLICIES: Final = ("OnFailure", _NEVER, "Always")
"""Of a pod alone; the last is that of workloads that always run, the others are those of Jobs."""


def _is_indexed(job: JSON, *, of_jobset: bool = False) -> bool:
    """Whether its pods have indexes, which those of JobSet have unless it says otherwise."""
    mode = job.get("completionMode")
    return mode == _INDEXED or (of_jobset and not mode)


def _indexes(job: JSON, *, of_jobset: bool = False, is_filled: bool = False) -> Broken:
    if job.get(_FAILED_INDEXES) is not None and job.get(_EACH_INDEX) is None:
        yield BrokenRule((_EACH_INDEX,), None, "is required beside maxFailedIndexes")
    if not _is_indexed(job, of_jobset=of_jobset):
        for key in (_EACH_INDEX, _FAILED_INDEXES):
            if job.get(key) is not None:
                yield BrokenRule((key,), job.get(key), "needs completionMode: Indexed")
        return
    parallel = job.get("parallelism")
    # Of a Job without both Kubernetes makes one pod.
    if isinstance(parallel, int) and job.get("completions") is None and not is_filled:
        what = "is required beside parallelism in an Indexed Job"
        yield BrokenRule(("completions",), None, what, f"write {parallel}: so many pods there are")
    yield from _limits(job)


def _limits(job: JSON) -> Broken:
    completions, failed = job.get("completions"), job.get(_FAILED_INDEXES)
    yield from _at_most(job, "parallelism", _MOST, "in an Indexed Job")
    yield from _at_most(job, _FAILED_INDEXES, _MOST, "in an Indexed Job")
    if completions is not None:
        yield from _at_most(job, _FAILED_INDEXES, completions, "as there are completions")
    if (completions or 0) > _MANY and job.get(_EACH_INDEX) is not None:
        where = f"where there are more than {_MANY} completions"
        if failed is None:
            yield BrokenRule((_FAILED_INDEXES,), None, f"is required {where}")
        yield from _at_most(job, "parallelism", _MOST_OF_MANY, where)
        yield from _at_most(job, _FAILED_INDEXES, _MOST_OF_MANY, where)


def _at_most(job: JSON, key: str, most: int, where: str) -> Broken:
    count = job.get(key)
    if count is not None and count > most:
        yield BrokenRule((key,), count, f"must be at most {most} {where}")


def _selects(job: JSON) -> Broken:
    """Kubernetes makes the selector, unless the Job says that it has one of its own."""
    selector, is_own = job.get("selector"), job.get("manualSelector")
    if is_own and selector is None:
        yield BrokenRule(("selector",), None, "is required beside manualSelector")
    elif selector is not None and not is_own:
        yield BrokenRule(("selector",), None, "is made by Kubernetes alone", "remove it")
    wanted = part_of(job, "selector", "matchLabels") if is_own else {}
    for key, value in wanted.items():
        if part_of(job, "template", "metadata", "labels").get(key) != value:
            path = ("selector", "matchLabels", key)
            yield BrokenRule(path, value, "is not a label of the pods")


def _labels_are_free(job: JSON, name: str | None = None) -> Broken:
    """Kubernetes labels the pods for its own selector."""
    if job.get("manualSelector"):
        return
    labels = part_of(job, "template", "metadata", "labels")
    for key in (*_NAMES, *_UIDS):
        value = labels.get(key)
        if value is not None and not (key in _NAMES and name is not None and value == name):
            path = ("template", "metadata", "labels", key)
            yield BrokenRule(path, value, "is written by Kubernetes alone", "leave it out")


def _restarts(job: JSON, *, of_jobset: bool = False) -> Broken:
    """Pods of a Job are not restarted forever; JobSet writes OnFailure where nothing is written."""
    path = ("template", "spec", "restartPolicy")
    allowed = RESTART_POLICIES[:2]
    words = listed(allowed, "or")
    said = part_of(job, "template", "spec").get("restartPolicy") or None
    if said is None and not of_jobset:
        yield BrokenRule(path, None, f"is required: {words}", f"write {words}")
    elif said is not None and said not in allowed:
        yield BrokenRule(path, said, f"must be {words}", f"write {words}")
    elif said != _NEVER and job.get("podFailurePolicy") is not None:
        what = f"must be {_NEVER} beside podFailurePolicy"
        yield BrokenRule(path, said, what, f"write {_NEVER}, or remove the policy")


def restarted(said: str, *, allowed: tuple[str, ...]) -> Broken:
    """How a pod without a Job restarts."""
    if said and said not in allowed:
        words = listed(allowed, "or")
        yield BrokenRule((), said, f"must be {words}", f"write {words}")


def _ways(rule: JSON) -> Broken:
    """A rule of a podFailurePolicy looks at exit codes or at conditions."""
    has_codes, has_conditions = rule.get("onExitCodes") is not None, rule.get("onPodConditions")
    if has_codes and has_conditions:
        what = "has onExitCodes and onPodConditions, of which only one may be set"
        yield BrokenRule(what=what)
    elif not has_codes and not has_conditions:
        yield BrokenRule(what="must have onExitCodes or onPodConditions")


def _codes(codes: JSON) -> Broken:
    found = [*(codes.get("values") or ())]
    if len(found) > MOST_CODES:
        yield BrokenRule(
            ("values",), None, f"must have at most {MOST_CODES} items, has {len(found)}"
        )
    if codes.get("operator") == _IN and 0 in found:
        yield BrokenRule(("values", found.index(0)), 0, "must not be 0, which is not a failure")
    if found != sorted({*found}):
        yield BrokenRule(("values",), None, "must be in order, each once")


def policy_fits(job: JSON) -> Broken:
    """What the rules of a podFailurePolicy name is in the Job."""
    pod = part_of(job, "template", "spec")
    for index, rule in enumerate(part_of(job, "podFailurePolicy").get("rules") or ()):
        path = ("podFailurePolicy", "rules", index)
        if rule.get("action") == _FAIL_INDEX and job.get(_EACH_INDEX) is None:
            yield BrokenRule((*path, "action"), _FAIL_INDEX, f"needs {_EACH_INDEX}")
        name = part_of(rule, "onExitCodes").get("containerName")
        lists = (pod.get(key) or () for key in ("containers", "initContainers"))
        known = [] if name is None else [str(each.get("name")) for one in lists for each in one]
        if name is not None and name not in known:
            where = (*path, "onExitCodes", "containerName")
            fix = f"use {listed(sorted(known), 'or')}"
            yield BrokenRule(where, name, "is not a container of the pod", fix)


def _replaces(job: JSON) -> Broken:
    said = job.get("podReplacementPolicy")
    known = [_FAILED]
    if said is not None and job.get("podFailurePolicy") is None:
        known.append("TerminatingOrFailed")
    if said is not None and said not in known:
        yield BrokenRule(("podReplacementPolicy",), said, f"must be {listed(known, 'or')}")


def _succeeds(job: JSON, *, of_jobset: bool = False, is_filled: bool = False) -> Broken:
    policy = job.get("successPolicy")
    if policy is None:
        return
    if not _is_indexed(job, of_jobset=of_jobset):
        yield BrokenRule(("successPolicy",), None, "needs completionMode: Indexed")
        return
    path = ("successPolicy", "rules")
    rules, completions = policy.get("rules") or (), job.get("completions")
    if not rules:
        yield BrokenRule(path, None, "is required", "write when the Job has succeeded")
    elif len(rules) > _RULES:
        yield BrokenRule(path, None, f"must have at most {_RULES} items, has {len(rules)}")
    # Of a Job without both Kubernetes makes one pod; what the trainer fills in is not known.
    is_one = not is_filled and job.get("parallelism") is None
    most = 1 if completions is None and is_one else completions
    for index, rule in enumerate(rules):
        yield from prefixed((*path, index), _success_rule(rule, most))


def _success_rule(rule: JSON, completions: int | None) -> Broken:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield BrokenRule(what="must have succeededCount or succeededIndexes")
    if count is not None and count < 0:
        yield BrokenRule(("succeededCount",), count, "must be at least 0")
    total = None if indexes is None else _total(indexes, completions)
    if indexes is not None and total is None:
        fix = "write indexes below completions in order, such as 0,2-4"
        what = "is not a list of the Job's indexes"
        yield BrokenRule(("succeededIndexes",), indexes, what, fix)
    limits = [each for each in (completions, total) if each is not None]
    if count is not None and limits and count > min(limits):
        what = f"must be at most {min(limits)}, as many as can succeed"
        yield BrokenRule(("succeededCount",), count, what)


def _total(text: str, completions: int | None) -> int | None:
    """How many indexes it names; None where it is not a list of indexes."""
    last, total = None, 0
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2 or not all(_INDEX.fullmatch(each) for each in ends):  # noqa: PLR2004
            return None
        first, final = int(ends[0]), int(ends[-1])
        is_known = completions is None or final < completions
        is_rising = len(ends) == 1 or first < final
        if not is_known or not is_rising or (last is not None and last >= first):
            return None
        last, total = final, total + final - first + 1
    return total


EXIT_CODES: Final = every(
    required("operator"),
    required("values", fix="write the exit codes"),
    fields(operator=choice(_IN, "NotIn")),
    asked(_codes),
)
"""Which exit codes a rule of a podFailurePolicy looks at."""
CONDITION: Final = needs(
    "type", type=text(QUALIFIED_NAME), status=choice("False", "True", "Unknown")
)
"""A condition that it looks at."""
FAILURE_RULE: Final = every(
    required("action"),
    asked(_ways),
    fields(
        action=choice("Count", _FAIL_INDEX, "FailJob", "Ignore"),
        onExitCodes=EXIT_CODES,
        onPodConditions=every(longest(_RULES), items(CONDITION)),
    ),
)
"""One of its rules."""
POD_FAILURE_POLICY: Final = fields(rules=every(longest(_RULES), items(FAILURE_RULE)))
"""What a failed pod means, as far as that needs no Job."""
_COUNTED: Final = fields(
    **dict.fromkeys(_COUNTS, number(0)),
    completionMode=choice(_INDEXED, "NonIndexed", is_optional=False),
    managedBy=text(DOMAIN_PATH, is_optional=False),
)


def _named(job: JSON) -> Broken:
    """The name is a label's value, and with the index that of a host."""
    spec, name = job.get("spec") or {}, part_of(job, "metadata").get("name")
    yield from prefixed(("spec",), _labels_are_free(spec, name))
    last = (spec.get("completions") or 1) - 1
    if not name:
        return
    if _is_indexed(spec) and not DNS_LABEL.fits(f"{name}-{last}"):
        what = f"with the last index, {last}, must be {DNS_LABEL.words}"
        yield BrokenRule(("metadata", "name"), name, what)
    elif len(name) > _LONGEST:
        what = f"must have at most {_LONGEST} characters, as the label of its pods has it"
        yield BrokenRule(("metadata", "name"), name, what)


_POLICIES: Final = every(fields(podFailurePolicy=POD_FAILURE_POLICY), asked(policy_fits, _replaces))


def job_forms(*, is_named: bool) -> Mapping[str, Schema]:
    """By rule, the forms of a Job but for its template; a controller may make its name."""
    counts = fields(spec=every(_COUNTED, asked(_selects, _indexes)))
    return {
        "job-restart-policy": fields(spec=asked(_restarts)),
        "job-counts": every(
            counts, asked(_named) if is_named else fields(spec=asked(_labels_are_free))
        ),
        "job-policies": fields(spec=every(_POLICIES, asked(_succeeds))),
    }


def _of_jobset(judge: Callable[..., Broken], job: JSON, *, fills: bool) -> Broken:
    labels = part_of(job, "template", "metadata", "labels") if fills else {}
    is_filled = labels.get(ANCESTOR_LABEL) is not None
    spec = part_of(job, "template", "spec")
    yield from prefixed(("template", "spec"), judge(spec, of_jobset=True, is_filled=is_filled))


def replicated_job_forms(*, fills: bool) -> Mapping[str, Schema]:
    """By rule, the forms of a job of a JobSet but for its template; see `workloads.jobset_spec`."""
    path = ("template", "spec")
    return {
        "job-restart-policy": at(path, asked(partial(_restarts, of_jobset=True))),
        "job-counts": every(
            at(path, every(_COUNTED, asked(_selects, _labels_are_free))),
            asked(partial(_of_jobset, _indexes, fills=fills)),
        ),
        "job-policies": every(
            at(path, _POLICIES), asked(partial(_of_jobset, _succeeds, fills=fills))
        ),
    }
