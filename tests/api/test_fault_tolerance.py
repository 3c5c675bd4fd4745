"""Policies for failures are checked when they are built, and put on a runtime that stays valid."""

from collections.abc import Callable
from typing import Any

import pytest

from trainer_infra import FaultTolerance, catalog, with_fault_tolerance
from trainer_infra.api import fault_tolerance
from trainer_infra.api.failure_policy import (
    FailurePolicy,
    FailurePolicyRule,
    OnExitCodes,
    OnPodCondition,
    PodFailurePolicy,
    PodFailurePolicyRule,
)
from trainer_infra.api.fault_tolerance import Policies, SuccessPolicy
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.errors import InvalidInput

TORCH = catalog.get("torch-distributed")
GATED = "is behind a feature gate of JobSet that is off by default"


def refusal(make: Callable[[], object]) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        make()
    return [str(problem) for problem in caught.value.problems]


def job_set(runtime: ClusterTrainingRuntime) -> Any:
    return runtime.to_wire()["spec"]["template"]["spec"]


def rule(index: int, name: str, action: str) -> dict[str, Any]:
    return {
        "name": name,
        "action": action,
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": [f"matching FailJob rule at index {index}$"],
    }


def test_the_usual_policies_hand_a_pods_failure_to_the_job_set() -> None:
    tolerance = FaultTolerance(
        max_restarts=5, retry_exit_codes=(143, 137), fail_fast_exit_codes=(2, 1)
    )
    spec = job_set(with_fault_tolerance(TORCH, tolerance))
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert spec["failurePolicy"] == {
        "maxRestarts": 5,
        "rules": [
            rule(0, "preempted", "RestartJobSetAndIgnoreMaxRestarts"),
            rule(1, "userError", "FailJobSet"),
        ],
    }
    assert job["backoffLimit"] == 0
    assert job["podFailurePolicy"] == {
        "rules": [
            {
                "action": "FailJob",
                "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
            },
            {
                "action": "FailJob",
                "onExitCodes": {"operator": "In", "values": [1, 2], "containerName": "node"},
            },
        ]
    }
    assert job["template"]["spec"]["restartPolicy"] == "Never"


def test_without_a_list_every_code_that_is_not_retried_is_the_users_error() -> None:
    policy = FaultTolerance(retry_exit_codes=(143, 137), container=None).policies().pod_failure
    assert policy is not None
    codes = {"operator": "NotIn", "values": [137, 143]}
    assert policy.to_wire()["rules"][1] == {"action": "FailJob", "onExitCodes": codes}
    none = FaultTolerance(retry_exit_codes=(), ignore_preemption=False).policies().pod_failure
    assert none is not None
    codes = {"operator": "NotIn", "values": [0], "containerName": "node"}
    assert none.to_wire()["rules"] == [{"action": "FailJob", "onExitCodes": codes}]


def test_codes_whose_restart_counts_not_have_a_rule_before_the_users_errors() -> None:
    policies = FaultTolerance(uncounted_exit_codes=(143,)).policies()
    assert policies.pod_failure is not None
    assert policies.failure is not None
    codes = {"operator": "In", "values": [143], "containerName": "node"}
    assert policies.pod_failure.to_wire()["rules"][1] == {
        "action": "FailJob",
        "onExitCodes": codes,
    }
    assert policies.failure.to_wire()["rules"] == [
        rule(0, "preempted", "RestartJobSetAndIgnoreMaxRestarts"),
        rule(1, "uncounted", "RestartJobSetAndIgnoreMaxRestarts"),
        rule(2, "userError", "FailJobSet"),
    ]


def test_nothing_to_tell_apart_is_a_number_of_restarts_alone() -> None:
    made = FaultTolerance(ignore_preemption=False, fail_fast_exit_codes=(), max_restarts=1)
    runtime = with_fault_tolerance(TORCH, made)
    spec = job_set(runtime)
    assert spec["failurePolicy"] == {"maxRestarts": 1}
    assert "podFailurePolicy" not in spec["replicatedJobs"][0]["template"]["spec"]


def test_the_runtime_that_was_given_stays_as_it_was() -> None:
    before = TORCH.to_wire()
    made = with_fault_tolerance(TORCH, FaultTolerance())
    assert TORCH.to_wire() == before
    assert isinstance(made, ClusterTrainingRuntime)
    assert ClusterTrainingRuntime.from_wire(made.to_wire()) == made


def test_initializers_keep_their_own_policies_and_every_other_job_gets_these() -> None:
    with_initializers = with_fault_tolerance(catalog.get("torchtune-llama3.2-1b"), FaultTolerance())
    launched = with_fault_tolerance(catalog.get("deepspeed-distributed"), FaultTolerance())
    assert [
        "podFailurePolicy" in each["template"]["spec"]
        for runtime in (with_initializers, launched)
        for each in job_set(runtime)["replicatedJobs"]
    ] == [False, False, True, True, True]


def test_a_policy_that_is_there_already_is_not_replaced() -> None:
    once = with_fault_tolerance(TORCH, FaultTolerance())
    job = "spec.template.spec.replicatedJobs[0].template.spec"
    where = "ClusterTrainingRuntime torch-distributed"
    assert refusal(lambda: with_fault_tolerance(once, FaultTolerance())) == [
        f"{where}: {path}: is already set; remove it from the runtime first"
        for path in (
            "spec.template.spec.failurePolicy",
            f"{job}.backoffLimit",
            f"{job}.podFailurePolicy",
        )
    ]


def test_names_that_the_runtime_does_not_have_are_refused() -> None:
    by_index = PodFailurePolicyRule(
        action="FailIndex", on_exit_codes=OnExitCodes(values=(1,), container_name="trainer")
    )
    policies = Policies(
        success=SuccessPolicy(operator="Any", target_replicated_jobs=("launcher",)),
        failure=FailurePolicy(
            rules=(
                FailurePolicyRule(name="a", action="FailJobSet", target_replicated_jobs=("node",)),
                FailurePolicyRule(name="b", action="FailJobSet", target_replicated_jobs=("no",)),
            )
        ),
        pod_failure=PodFailurePolicy(rules=(by_index,)),
    )
    where = "ClusterTrainingRuntime torch-distributed: spec.template.spec"
    pods = f"{where}.replicatedJobs[0].template.spec.podFailurePolicy.rules[0]"
    assert refusal(lambda: fault_tolerance.with_policies(TORCH, policies)) == [
        f"{pods}.action: needs backoffLimitPerIndex, got 'FailIndex'",
        f"{pods}.onExitCodes.containerName: is not a container of the pod, got 'trainer'; use node",
        (
            f"{where}.successPolicy.targetReplicatedJobs: names no replicated job, "
            "got 'launcher'; use node"
        ),
        (
            f"{where}.failurePolicy.rules[1].targetReplicatedJobs: names no replicated job, "
            "got 'no'; use node"
        ),
    ]


def test_typed_policies_are_put_on_a_runtime_as_they_are() -> None:
    policies = Policies(success=SuccessPolicy(operator="Any"), backoff_limit=4)
    spec = job_set(fault_tolerance.with_policies(TORCH, policies))
    assert spec["successPolicy"] == {"operator": "Any"}
    assert spec["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] == 4
    assert "failurePolicy" not in spec


@pytest.mark.parametrize(
    ("make", "problems"),
    [
        pytest.param(
            lambda: OnExitCodes(operator="Is", values=()),
            [
                "operator: must be In or NotIn, got 'Is'",
                "values: is required; write the exit codes",
            ],
            id="an operator, and no code",
        ),
        pytest.param(
            lambda: OnExitCodes(values=(3, 0, 3, 256)),
            [
                "values[3]: must be from 0 to 255, got 256",
                "values[1]: must not be 0, which is not a failure, got 0",
                "values: must be in order, each once",
            ],
            id="codes that Kubernetes refuses",
        ),
        pytest.param(
            lambda: OnExitCodes(operator="NotIn", values=tuple(range(256))),
            ["values: must have at most 255 items, has 256"],
            id="0 is allowed with NotIn, 256 codes are not",
        ),
        pytest.param(
            lambda: OnPodCondition(type="a b", status="true"),
            [
                (
                    "type: must be a qualified name: at most 63 letters, digits, -, _ and ., "
                    "after a DNS subdomain and / or alone, got 'a b'"
                ),
                "status: must be False, True or Unknown, got 'true'",
            ],
            id="a condition",
        ),
        pytest.param(
            lambda: PodFailurePolicyRule(action="Retry"),
            [
                "action: must be Count, FailIndex, FailJob or Ignore, got 'Retry'",
                "must have on_exit_codes or on_pod_conditions",
            ],
            id="a rule without a requirement",
        ),
        pytest.param(
            lambda: PodFailurePolicyRule(
                action="Ignore",
                on_exit_codes=OnExitCodes(values=(1,)),
                on_pod_conditions=(OnPodCondition(type="Ready"),) * 21,
            ),
            [
                "on_pod_conditions: must have at most 20 items, has 21",
                "has on_exit_codes and on_pod_conditions, of which only one may be set",
            ],
            id="a rule with both requirements, one of them too long",
        ),
        pytest.param(
            lambda: PodFailurePolicy(
                rules=(
                    PodFailurePolicyRule(action="Count", on_exit_codes=OnExitCodes(values=(1,))),
                )
                * 21
            ),
            ["rules: must have at most 20 items, has 21"],
            id="too many rules",
        ),
        pytest.param(
            lambda: SuccessPolicy(operator="Most"),
            ["operator: must be All or Any, got 'Most'"],
            id="a success policy",
        ),
        pytest.param(
            lambda: FailurePolicyRule(
                name="1st",
                action="RestartJob",
                on_job_failure_reasons=("Oops",),
                on_job_failure_message_patterns=("(",),
            ),
            [
                (
                    "name: must be 1 to 128 letters, digits, _, comma and :, begin with a letter "
                    "and end with none of , and :, got '1st'"
                ),
                (
                    f"action: {GATED}, got 'RestartJob'; use FailJobSet, RestartJobSet or "
                    "RestartJobSetAndIgnoreMaxRestarts"
                ),
                (
                    "on_job_failure_reasons[0]: must be BackoffLimitExceeded, DeadlineExceeded, "
                    "FailedIndexes, MaxFailedIndexesExceeded or PodFailurePolicy, got 'Oops'"
                ),
                (
                    "on_job_failure_message_patterns[0]: is not a regular expression: missing ), "
                    "unterminated subpattern at position 0, got '('"
                ),
            ],
            id="a rule of a failure policy",
        ),
        pytest.param(
            lambda: FailurePolicy(
                max_restarts=-1,
                restart_strategy="InPlaceRestart",
                rules=(FailurePolicyRule(name="a", action="FailJobSet"),) * 2,
            ),
            [
                "max_restarts: must be at least 0, got -1",
                (
                    f"restart_strategy: {GATED}, got 'InPlaceRestart'; "
                    "use Recreate or BlockingRecreate"
                ),
                "rules[1].name: is a duplicate; values must be unique, got 'a'",
            ],
            id="a failure policy",
        ),
        pytest.param(
            lambda: FaultTolerance(
                max_restarts=-1,
                retry_exit_codes=(0, 137, 137),
                uncounted_exit_codes=(143, 143),
                fail_fast_exit_codes=(300, 137),
                restart_strategy="Now",
            ),
            [
                "max_restarts: must be at least 0, got -1",
                "retry_exit_codes[0]: must be from 1 to 255, got 0",
                "retry_exit_codes[2]: has the same value as item 1, got 137",
                "uncounted_exit_codes[1]: has the same value as item 0, got 143",
                "fail_fast_exit_codes[0]: must be from 1 to 255, got 300",
                "restart_strategy: must be Recreate or BlockingRecreate, got 'Now'",
                "fail_fast_exit_codes: is in retry_exit_codes too, got 137",
                "uncounted_exit_codes: must be in retry_exit_codes, got 143",
            ],
            id="the helper",
        ),
    ],
)
def test_what_a_cluster_would_refuse_is_refused_when_it_is_built(
    make: Callable[[], object], problems: list[str]
) -> None:
    assert [problem.partition(": ")[2] for problem in refusal(make)] == problems


def test_a_value_of_the_wrong_type_is_told_by_its_python_name() -> None:
    wrong: Any = {"max_restarts": "3", "max_restart": 2}
    assert refusal(lambda: FaultTolerance(**wrong)) == [
        "FaultTolerance: max_restarts: must be a whole number, got '3'",
        "FaultTolerance: max_restart: unknown field; did you mean max_restarts?",
    ]
