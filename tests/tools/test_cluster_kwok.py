"""What kwok is told: pods run until they say that they are done, and only its own nodes are touched."""

from tools.cluster import kwok


def test_pods_of_a_job_run_until_they_say_that_they_are_done() -> None:
    stages = {each["metadata"]["name"]: each["spec"] for each in kwok.stages()}
    assert stages.keys() == {"node-initialize", "pod-ready", "pod-delete", "pod-complete"}
    selected = stages["pod-complete"]["selector"]["matchExpressions"]
    assert {each["key"] for each in selected} == {
        ".metadata.deletionTimestamp",
        ".status.phase",
        f'.metadata.annotations["{kwok.COMPLETE}"]',
    }


def test_a_node_is_kwoks_and_nothing_real_lands_on_it() -> None:
    made = kwok.node("a", {"rack": "one"}, {"cpu": "8"})
    assert made["metadata"] == {
        "name": "a",
        "labels": {"kubernetes.io/hostname": "a", "rack": "one"},
        "annotations": {"kwok.x-k8s.io/node": "fake"},
    }
    assert made["spec"] == {"taints": [kwok.TAINT]}
    assert made["status"] == {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}
