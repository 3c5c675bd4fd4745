"""The patch of the order moves quotas as they are, and none that is not known yet."""

from typing import Any

from trainer_infra.rules import subject, world
from trainer_infra.rules.finding import Change
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.scheduling.resource_groups import COVERED_RESOURCES_ORDER as RULE
from trainer_infra.rules.value import UNKNOWN

PATH = ("spec", "resourceGroups", 0, "flavors", 0, "resources")
CPU = {"name": "cpu", "nominalQuota": 96}


def patches(gpu: dict[str, Any]) -> list[tuple[Change, ...]]:
    group = {
        "coveredResources": ["cpu", "nvidia.com/gpu"],
        "flavors": [{"name": "h100", "resources": [gpu, CPU]}],
    }
    queue = subject.subject_of({"kind": "ClusterQueue", "spec": {"resourceGroups": [group]}})
    judged = judge(queue, world.world_of([queue]), [ConfiguredRule.default(RULE)])
    return [each.patch for one in judged for each in one.findings]


def test_quotas_move_with_their_names() -> None:
    gpu = {"name": "nvidia.com/gpu", "nominalQuota": 8, "borrowingLimit": 2}
    assert patches(gpu) == [(Change(PATH, [CPU, gpu]),)]


def test_a_quota_that_is_not_known_stays_where_it_is() -> None:
    assert patches({"name": "nvidia.com/gpu", "nominalQuota": UNKNOWN}) == [()]
