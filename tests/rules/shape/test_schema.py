"""What JobSet's webhook fills in is not a fault of a JobSet, and is one of a runtime, which no webhook completes."""

from typing import Any

import pytest

from trainer_infra import names
from trainer_infra.rules import tree, world
from trainer_infra.rules.capacity import job_end
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.shape import schema

JSON = dict[str, Any]


def jobset_spec(**failure_policy: Any) -> JSON:
    pod = {"restartPolicy": "Never", "containers": [{"name": "node", "image": "a:v1"}]}
    job = {
        "name": "node",
        "template": {"spec": {"backoffLimit": 2**31 - 1, "template": {"spec": pod}}},
    }
    return {"replicatedJobs": [job], "failurePolicy": {"maxRestarts": 3, **failure_policy}}


def paths(rule: AnyRule, version: str, kind: str, spec: JSON) -> list[tuple[Any, ...]]:
    value = {"apiVersion": version, "kind": kind, "metadata": {"name": "digits"}, "spec": spec}
    (subject,) = tree.subjects_of([value])
    judged = judge(subject, world.world_of([subject]), [ConfiguredRule.default(rule)])
    return [each.path for one in judged for each in one.findings]


def of_jobset(rule: AnyRule, **failure_policy: Any) -> list[tuple[Any, ...]]:
    spec = jobset_spec(**failure_policy)
    return paths(rule, names.JOBSET_API_VERSION, names.JOBSET, spec)


def test_a_failure_rule_needs_no_name_in_a_jobset() -> None:
    rules = [{"action": "FailJobSet"}, {"action": "RestartJobSet", "name": "a"}]
    assert of_jobset(schema.SCHEMA, rules=rules) == []
    template = {"template": {"spec": jobset_spec(rules=rules)}}
    (path,) = paths(schema.SCHEMA, names.API_VERSION, names.CLUSTER_TRAINING_RUNTIME, template)
    assert path[-3:] == ("rules", 0, "name")


def test_a_failure_rule_of_a_wrong_name_is_a_fault() -> None:
    assert of_jobset(schema.SCHEMA, rules=[{"action": "FailJobSet", "name": ["a"]}]) != []


@pytest.mark.parametrize(("strategy", "count"), [("Recreate", 1), ("InPlaceRestart", 0)])
def test_where_pods_restart_in_place_jobset_bounds_them(strategy: str, count: int) -> None:
    assert len(of_jobset(job_end.RESTARTS_BOUNDED, restartStrategy=strategy)) == count
