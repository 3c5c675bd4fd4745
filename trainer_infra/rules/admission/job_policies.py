"""job-policies: what ends a Job are rules that Kubernetes can follow.

Source: Kubernetes' validation of Jobs (`validatePodFailurePolicy`, `validateSuccessPolicy`,
`validatePodReplacementPolicy`).
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, job_specs
from trainer_infra.rules.admission.job_specs import JobSpec
from trainer_infra.rules.name_syntax import QUALIFIED_NAME
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_FAIL_INDEX: Final = "FailIndex"
_ACTIONS: Final = ("Count", _FAIL_INDEX, "FailJob", "Ignore")
_RULES: Final = 20
_CODES: Final = 255
_IN: Final = "In"
_FAILED: Final = "Failed"
_INDEX: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


def _ways(rule: Value) -> Iterator[Finding]:
    """A rule of a podFailurePolicy looks at exit codes or at conditions."""
    codes, conditions = rule["onExitCodes"], rule["onPodConditions"]
    has_conditions = bool(field.all_items(conditions))
    if codes.is_there() and has_conditions:
        yield rule.finding("has onExitCodes and onPodConditions, of which only one may be set")
    elif not codes.is_there() and not has_conditions:
        yield rule.finding("must have onExitCodes or onPodConditions")


def _codes(codes: Value) -> Iterator[Finding]:
    values = codes["values"]
    said = [each.number() for each in field.all_items(values)]
    known = [each for each in said if each is not None]
    if not said:
        yield values.finding("is required", None, "write the exit codes")
    if len(said) > _CODES:
        yield values.finding(f"must have at most {_CODES} items, has {len(said)}")
    if codes["operator"].text() == _IN and 0 in known:
        yield values.finding("must not have 0, which is no failure")
    if known != sorted({*known}):
        yield values.finding("must be in order, each once")


_FAILURE_RULE: Final = field.every(
    field.required("action"),
    _ways,
    field.fields(
        {
            "action": field.choice(*_ACTIONS),
            "onExitCodes": field.every(
                field.required("operator"),
                field.fields({"operator": field.choice(_IN, "NotIn")}),
                _codes,
            ),
            "onPodConditions": field.every(
                field.longest(_RULES),
                field.items(
                    field.every(
                        field.required("type"),
                        field.fields(
                            {
                                "type": field.text(QUALIFIED_NAME),
                                "status": field.choice("False", "True", "Unknown"),
                            }
                        ),
                    )
                ),
            ),
        }
    ),
)
_SPEC: Final = field.fields(
    {
        "podFailurePolicy": field.fields(
            {"rules": field.every(field.longest(_RULES), field.items(_FAILURE_RULE))}
        ),
    }
)


def _check(job: JobSpec, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_job(job), context)


def _of_job(job: JobSpec) -> Iterator[Finding]:
    yield from field.found_in(job.spec, _SPEC)
    yield from field.found_in(job.spec["podFailurePolicy"], lambda each: _failures(each, job))
    yield from field.found_in(job.spec["successPolicy"], lambda each: _success(each, job))
    replacement = job.spec["podReplacementPolicy"]
    if replacement.is_there():
        has_failures = job.spec["podFailurePolicy"].is_there()
        known = (_FAILED,) if has_failures else (_FAILED, "TerminatingOrFailed")
        yield from field.choice(*known, is_optional=False)(replacement)


def _failures(policy: Value, job: JobSpec) -> Iterator[Finding]:
    """What its rules name is in the Job."""
    lists = (job.pod_spec[key] for key in ("containers", "initContainers"))
    containers = {each["name"].text() for one in lists for each in field.all_items(one)}
    for rule in policy["rules"].items():
        action, name = rule["action"], rule.at("onExitCodes", "containerName")
        if action.text() == _FAIL_INDEX and not job.spec["backoffLimitPerIndex"].is_there():
            yield action.finding("needs backoffLimitPerIndex", _FAIL_INDEX)
        if name.is_there() and name.text() not in containers:
            yield name.finding("is no container of the pod", name.text())


def _success(policy: Value, job: JobSpec) -> Iterator[Finding]:
    if not job.is_indexed:
        yield policy.finding("needs completionMode: Indexed")
        return
    rules, completions = policy["rules"], job.spec["completions"].number()
    count = len(field.all_items(rules))
    if not count:
        yield rules.finding("is required", None, "write when the Job has succeeded")
    elif count > _RULES:
        yield rules.finding(f"must have at most {_RULES} items, has {count}")
    # Of a Job without both Kubernetes makes one pod; what the trainer fills in is not known.
    is_one = not job.is_filled and not job.spec["parallelism"].is_there()
    most = 1 if completions is None and is_one else completions
    for rule in rules.items():
        yield from _success_rule(rule, most)


def _success_rule(rule: Value, completions: int | None) -> Iterator[Finding]:
    count, indexes = rule["succeededCount"], rule["succeededIndexes"]
    if not count.is_there() and not indexes.is_there():
        yield rule.finding("must have succeededCount or succeededIndexes")
    yield from field.found_in(count, field.number(0))
    total = None
    if indexes.is_there():
        total = _total(indexes.text(), completions)
        if total is None:
            fix = "write indexes below completions in order, such as 0,2-4"
            yield indexes.finding("is no list of the Job's indexes", indexes.text(), fix)
    limits = [each for each in (completions, total) if each is not None]
    number = count.number()
    if number is not None and limits and number > min(limits):
        yield count.finding(f"must be at most {min(limits)}, as many as can succeed", number)


def _total(text: str, completions: int | None) -> int | None:
    """How many indexes it names; None where it is no list of indexes."""
    last, total = None, 0
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2 or not all(_INDEX.fullmatch(each) for each in ends):  # noqa: PLR2004
            return None
        first, final = int(ends[0]), int(ends[-1])
        is_known = completions is None or final < completions
        if (
            not is_known
            or (len(ends) > 1 and first >= final)
            or (last is not None and last >= first)
        ):
            return None
        last, total = final, total + final - first + 1
    return total


RULE: Final = Rule(
    id="job-policies",
    title="What fails or ends a Job are rules that Kubernetes can follow",
    severity=Severity.HIGH,
    kinds=job_specs.KINDS,
    tags=("admission", "jobs"),
    why="The API server refuses the Job, or JobSet cannot make it; nothing ever runs.",
    fix="Write exit codes in order, containers of the pod, and indexes below completions.",
    places=job_specs.job_specs,
    check=_check,
)
