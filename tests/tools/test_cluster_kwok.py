"""What kwok is told: pods run until they say that they are done, and only its own nodes are touched."""

import pytest

from from_source.cluster import kwok


@pytest.mark.verify  # kwok's module has the stages
def test_pods_of_a_job_run_until_they_say_that_they_are_done_or_that_they_fail() -> None:
    stages = {each["metadata"]["name"]: each["spec"] for each in kwok.stages()}
    ends = {"pod-complete": kwok.COMPLETE, "pod-fail": kwok.FAIL}
    assert stages.keys() == {"node-initialize", "pod-ready", "pod-delete", *ends}
    for name, annotation in ends.items():
        selected = stages[name]["selector"]["matchExpressions"]
        assert {each["key"] for each in selected} == {
            ".metadata.deletionTimestamp",
            ".status.phase",
            f'.metadata.annotations["{annotation}"]',
        }
    assert "exitCode: 1" in stages["pod-fail"]["next"]["statusTemplate"]


def test_a_node_is_kwoks_and_nothing_real_lands_on_it() -> None:
    made = kwok.node("a", {"rack": "one"}, {"cpu": "8"})
    assert made["metadata"] == {
        "name": "a",
        "labels": {"kubernetes.io/hostname": "a", "rack": "one"},
        "annotations": {"kwok.x-k8s.io/node": "fake"},
    }
    assert made["spec"] == {"taints": [kwok.TAINT]}
    assert made["status"] == {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}
