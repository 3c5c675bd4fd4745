"""What is behind feature gates of JobSet is refused as long as those are off; runtimes count no pods."""

from collections.abc import Sequence
from typing import Any

from trainer_infra import names
from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.shape import jobset_policies, replicated_jobs

JSON = dict[str, Any]
ACTION = ("spec", "failurePolicy", "rules", 0, "action")


def spec(**fields: Any) -> JSON:
    pod = {"containers": [{"name": "node", "image": "a:v1"}]}
    job = {"name": "node", "replicas": 2000, "template": {"spec": {"template": {"spec": pod}}}}
    return {"replicatedJobs": [job], **fields}


def of_jobset(**fields: Any) -> JSON:
    head = {"apiVersion": names.JOBSET_API_VERSION, "kind": names.JOBSET}
    return {**head, "metadata": {"name": "digits"}, "spec": spec(**fields)}


def of_runtime(**fields: Any) -> JSON:
    head = {"apiVersion": names.API_VERSION, "kind": names.TRAINING_RUNTIME}
    return {**head, "metadata": {"name": "a"}, "spec": {"template": {"spec": spec(**fields)}}}


def paths(rule: AnyRule, value: JSON, gates: Sequence[str] = ()) -> list[tuple[Any, ...]]:
    (subject,) = tree.subjects_of([value])
    parameters = rule.parameters(**({"featureGates": [*gates]} if gates else {}))
    judged = judge(
        subject, world.world_of([subject]), [ConfiguredRule(rule, rule.severity, parameters)]
    )
    return [each.path for one in judged for each in one.findings]


def test_a_gate_that_is_on_lets_its_action_in_for_some_replicas() -> None:
    value = of_jobset(failurePolicy={"rules": [{"name": "a", "action": "RestartJob"}]})
    assert paths(jobset_policies.JOBSET_POLICIES, value) == [ACTION]
    # JobSet keeps the restarts of 1024 Jobs.
    replicas = ("spec", "replicatedJobs", 0, "replicas")
    assert paths(jobset_policies.JOBSET_POLICIES, value, ["RestartJob"]) == [replicas]
    value["spec"]["replicatedJobs"][0]["replicas"] = 1024
    assert paths(jobset_policies.JOBSET_POLICIES, value, ["RestartJob"]) == []


def test_restarting_in_place_has_a_gate_of_its_own() -> None:
    value = of_jobset(failurePolicy={"restartStrategy": "InPlaceRestart"})
    assert len(paths(jobset_policies.JOBSET_POLICIES, value, ["RestartJob"])) == 1
    assert paths(jobset_policies.JOBSET_POLICIES, value, ["InPlaceRestart"]) == []


def test_only_of_a_jobset_the_pod_of_its_coordinator_is_judged() -> None:
    chosen = {"replicatedJob": "node", "podIndex": 3}
    completions = ("spec", "replicatedJobs", 0, "template", "spec", "completions")
    assert paths(replicated_jobs.COORDINATOR, of_jobset(coordinator=chosen)) == [completions]
    assert paths(replicated_jobs.COORDINATOR, of_runtime(coordinator=chosen)) == []
    (path,) = paths(replicated_jobs.COORDINATOR, of_runtime(coordinator={"replicatedJob": "nodes"}))
    assert path[-1] == "replicatedJob"
