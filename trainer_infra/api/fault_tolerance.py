"""Fault tolerance of a runtime: which failures start a run anew, and which end it.

`with_fault_tolerance` builds the usual policies from four numbers; `with_policies` puts any typed
ones on a runtime. The nodes of a training start anew together, since a framework's group does not
take a node back: so a pod's failure is handed up to the JobSet (KEP-3329 and JobSet's KEP-262),
which restarts all.
A JobSet without a `successPolicy` (JobSet v0.12, KEP-135) needs all its Jobs.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

from pydantic import ConfigDict, StrictBool, StrictInt
from typing_extensions import override

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.api.failure_policy import (
    CheckedModel,
    FailurePolicy,
    FailurePolicyRule,
    OnExitCodes,
    OnPodCondition,
    PodFailurePolicy,
    PodFailurePolicyRule,
)
from trainer_infra.api.finding import path_text
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.shape import form, job_forms
from trainer_infra.api.shape.walk import Schema
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject


class SuccessPolicy(CheckedModel):
    """When a JobSet is completed."""

    operator: str
    """`All` or `Any` of the Jobs that are looked at."""
    target_replicated_jobs: tuple[str, ...] | None = None
    """Replicated jobs that are looked at; None or empty for every one."""

    shape: ClassVar[Schema] = form.fields(operator=form.choice("All", "Any", is_optional=False))


AnyRuntime = TypeVar("AnyRuntime", TrainingRuntime, ClusterTrainingRuntime)
SIGKILL: Final = 137
"""Exit code of a process that was killed, by the memory limit too."""
SIGTERM: Final = 143
"""Exit code of a process that was told to end."""
_INITIALIZERS: Final = (names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


@dataclass(frozen=True, slots=True)
class Policies:
    """What is put on a runtime; None leaves what is there."""

    failure: FailurePolicy | None = None
    """`failurePolicy` of the JobSet."""
    success: SuccessPolicy | None = None
    """`successPolicy` of the JobSet."""
    pod_failure: PodFailurePolicy | None = None
    """`podFailurePolicy` of each Job that trains; sets its pods' restartPolicy to Never."""
    backoff_limit: int | None = None
    """`backoffLimit` of each Job that trains: failed pods that are replaced before it fails."""
    succeeded_indexes: str | None = None
    """Of `successPolicy` of each Job that trains: which pods have succeeded when it is complete, such as `0,2-4`."""


class FaultTolerance(CheckedModel):
    """Which failures of a training start all its nodes anew, and which end the run.

    Building one with values that Kubernetes or JobSet would refuse raises InvalidInput.
    """

    model_config = ConfigDict(alias_generator=None)

    max_restarts: StrictInt = 3
    """Restarts of all nodes together until the next failure is final."""
    ignore_preemption: StrictBool = True
    """Whether a restart after preemption, eviction or the loss of a node does not count."""
    retry_exit_codes: tuple[StrictInt, ...] = (SIGKILL, SIGTERM)
    """Exit codes of the infrastructure, 1 to 255, after which the nodes restart."""
    uncounted_exit_codes: tuple[StrictInt, ...] = ()
    """Those of `retry_exit_codes` whose restart does not count. 143 makes a pod that a user deleted
    free, which Kubernetes does not mark; a program that always ends so is started forever."""
    fail_fast_exit_codes: tuple[StrictInt, ...] | None = None
    """Exit codes of the user's errors, which end the run at once; None for every other code. With
    some given, a code that is in neither list restarts the nodes."""
    container: str | None = names.NODE
    """The container whose exit code is looked at; None for any of a pod."""
    backoff_limit: StrictInt = 0
    """Failed pods that a Job replaces by itself before all nodes restart; suits one node."""
    restart_strategy: str | None = None
    """`Recreate`, or `BlockingRecreate` where old pods must be gone first; None for JobSet's own."""

    shape: ClassVar[Schema] = form.fields(
        max_restarts=form.number(0),
        retry_exit_codes=failure_policy.CODES,
        uncounted_exit_codes=failure_policy.CODES,
        fail_fast_exit_codes=failure_policy.CODES,
        backoff_limit=form.number(0),
        restart_strategy=failure_policy.RESTART_STRATEGY,
    )

    @override
    def problems(self) -> Iterator[Problem]:
        """Negative counts, codes that are none or in the wrong lists, and a gated strategy."""
        yield from super().problems()
        retried, fatal = self.retry_exit_codes, self.fail_fast_exit_codes or ()
        for code in sorted({*retried} & {*fatal}):
            yield Problem("fail_fast_exit_codes", "is in retry_exit_codes too", code)
        for code in sorted({*self.uncounted_exit_codes} - {*retried}):
            yield Problem("uncounted_exit_codes", "must be in retry_exit_codes", code)

    def policies(self) -> Policies:
        """The policies that do this.

        A preempted pod and a user's error both fail their Job; the JobSet tells them apart by the
        index of the pod failure policy's rule, which stands in the Job's message.
        """
        rules = self._rules()
        pod_rules = tuple(pod_rule for _, _, pod_rule in rules)
        job_set_rules = tuple(
            FailurePolicyRule(
                name=name,
                action=action,
                on_job_failure_reasons=(names.POD_FAILURE_POLICY,),
                on_job_failure_message_patterns=(f"matching FailJob rule at index {index}$",),
            )
            for index, (name, action, _) in enumerate(rules)
        )
        return Policies(
            failure=FailurePolicy(
                max_restarts=self.max_restarts,
                restart_strategy=self.restart_strategy,
                rules=job_set_rules or None,
            ),
            pod_failure=PodFailurePolicy(rules=pod_rules) if pod_rules else None,
            backoff_limit=self.backoff_limit,
        )

    def _rules(self) -> tuple[tuple[str, str, PodFailurePolicyRule], ...]:
        """Name, the JobSet's action and the Job's rule; a preempted pod has an exit code as well."""
        disrupted = OnPodCondition(type=failure_policy.DISRUPTION_TARGET)
        preempted = PodFailurePolicyRule(
            action=failure_policy.FAIL_JOB, on_pod_conditions=(disrupted,)
        )
        free = self._codes(failure_policy.IN, self.uncounted_exit_codes)
        if self.fail_fast_exit_codes is None:
            # 0 is not a failure: a list of retried codes must not be empty.
            errors = self._codes(failure_policy.NOT_IN, self.retry_exit_codes or (0,))
        else:
            errors = self._codes(failure_policy.IN, self.fail_fast_exit_codes)
        return (
            *([("preempted", failure_policy.RESTART_FREELY, preempted)] * self.ignore_preemption),
            *([("uncounted", failure_policy.RESTART_FREELY, free)] if free else ()),
            *([("userError", failure_policy.FAIL, errors)] if errors else ()),
        )

    def _codes(self, operator: str, values: tuple[int, ...]) -> PodFailurePolicyRule | None:
        """The rule that fails the Job by its exit code; None without codes."""
        if not values:
            return None
        in_order = tuple(sorted(values))
        codes = OnExitCodes(operator=operator, values=in_order, container_name=self.container)
        return PodFailurePolicyRule(action=failure_policy.FAIL_JOB, on_exit_codes=codes)


def with_fault_tolerance(runtime: AnyRuntime, tolerance: FaultTolerance) -> AnyRuntime:
    """A copy of the runtime whose training nodes restart and fail as `tolerance` says.

    Raises:
        InvalidInput: as `with_policies`.
    """
    return with_policies(runtime, tolerance.policies())


def with_policies(runtime: AnyRuntime, policies: Policies) -> AnyRuntime:
    """A copy of the runtime with these policies: the JobSet's own, and those of Jobs that train.

    Those are all replicated jobs but the initializers.

    Raises:
        InvalidInput: holds a problem for each policy that the runtime already has, and for each
            container or replicated job that it does not have.
    """
    wire = runtime.to_wire()
    spec = wire["spec"].get("template", {}).get("spec", {})
    found = tuple(_misfits(spec, policies))
    if found:
        where = f"{runtime.kind} {runtime.metadata.name}"
        raise InvalidInput(replace(each, where=where) for each in found)
    _put(spec, policies)
    return type(runtime).from_wire(wire)


def tolerant(spec: JSONObject, policies: Policies) -> JSONObject:
    """The spec of a JobSet with these policies; as it is where it has any of them."""
    if any(_misfits(spec, policies)):
        return spec
    copy = deepcopy(dict(spec))
    _put(copy, policies)
    return copy


def _put(spec: dict[str, Any], policies: Policies) -> None:
    spec.update(_of_job_set(policies))
    for _, job_spec in training_jobs(spec):
        job_spec.update(_of_job(policies))
        if policies.pod_failure:
            job_spec["template"]["spec"]["restartPolicy"] = "Never"


def _of_job_set(policies: Policies) -> JSONObject:
    given = {"failurePolicy": policies.failure, "successPolicy": policies.success}
    return {name: each.to_wire() for name, each in given.items() if each}


def _of_job(policies: Policies) -> dict[str, Any]:
    job_spec: dict[str, Any] = {}
    if policies.backoff_limit is not None:
        job_spec["backoffLimit"] = policies.backoff_limit
    if policies.succeeded_indexes is not None:
        rule = {"succeededIndexes": policies.succeeded_indexes}
        job_spec["successPolicy"] = {"rules": [rule]}
    if policies.pod_failure:
        job_spec["podFailurePolicy"] = policies.pod_failure.to_wire()
    return job_spec


def training_jobs(spec: JSONObject) -> Iterator[tuple[str, dict[str, Any]]]:
    """Field path and JobSpec of each replicated job that is not an initializer."""
    for index, job in enumerate(spec.get("replicatedJobs") or ()):
        labels = (job["template"].get("metadata") or {}).get("labels") or {}
        if labels.get(names.ANCESTOR_LABEL) not in _INITIALIZERS:
            path = f"spec.template.spec.replicatedJobs[{index}].template.spec"
            yield path, job["template"]["spec"]


def _misfits(spec: JSONObject, policies: Policies) -> Iterator[Problem]:
    has, remove = "is already set", "remove it from the runtime first"
    for name in _of_job_set(policies):
        if name in spec:
            yield Problem(f"spec.template.spec.{name}", has, fix=remove)
    for path, job_spec in training_jobs(spec):
        for name in _of_job(policies):
            if name in job_spec:
                yield Problem(f"{path}.{name}", has, fix=remove)
        job = {**job_spec, **_of_job(policies)} if policies.pod_failure else {}
        for each in form.found_by(form.asked(job_forms.policy_fits), job):
            yield Problem(f"{path}.{path_text(each.path)}", each.what, each.got, each.fix)
    yield from _unknown_jobs(spec, policies)


def _unknown_jobs(spec: JSONObject, policies: Policies) -> Iterator[Problem]:
    known = [each["name"] for each in spec.get("replicatedJobs") or ()]
    targets = [
        ("successPolicy", policies.success.target_replicated_jobs if policies.success else None),
        *(
            (f"failurePolicy.rules[{index}]", rule.target_replicated_jobs)
            for index, rule in enumerate((policies.failure and policies.failure.rules) or ())
        ),
    ]
    for path, wanted in targets:
        for name in wanted or ():
            if name not in known:
                at = f"spec.template.spec.{path}.targetReplicatedJobs"
                fix = f"use {' or '.join(known)}" if known else ""
                yield Problem(at, "names no replicated job", name, fix)
