"""Slices of a topology are compared with pods where those are counted, and groups are of two jobs."""

from typing import Any

import pytest

from tests.review import checked

JSON = dict[str, Any]
PREFIX = "kueue.x-k8s.io/podset"
SLICES = {f"{PREFIX}-slice-required-topology": "example.com/rack", f"{PREFIX}-slice-size": "4"}
TOGETHER = {f"{PREFIX}-required-topology": "example.com/rack", f"{PREFIX}-group-name": "all"}


def template(annotations: JSON, parallelism: int) -> JSON:
    pod = {"containers": [{"name": "node", "image": "a:v1"}]}
    inner = {"metadata": {"annotations": annotations}, "spec": pod}
    return {"spec": {"parallelism": parallelism, "completions": 8, "template": inner}}


def jobset(*templates: JSON) -> JSON:
    jobs = [{"name": f"job-{at}", "template": each} for at, each in enumerate(templates)]
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return {**head, "metadata": {"name": "digits"}, "spec": {"replicatedJobs": jobs}}


def found(value: JSON) -> list[str]:
    report = checked.of([checked.document(value)], "topology-request", "topology-groups")
    return [each.what for each in report.items]


def test_a_slice_has_no_more_pods_than_a_jobset() -> None:
    assert found(jobset(template(SLICES, 4))) == []
    assert found(jobset(template(SLICES, 3))) == ["is more than the 3 pods"]


def test_pods_of_other_kinds_are_not_counted() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    assert found({**job, **template(SLICES, 8)}) == []
    assert found({**job, **template({**SLICES, f"{PREFIX}-slice-size": "none"}, 8)}) == [
        "is not a number of pods from 1 on"
    ]


@pytest.mark.parametrize(
    ("pods", "what"),
    [
        ([1, 4], []),
        ([4], ["is the group of 1 jobs, and Kueue places 2 together"]),
        ([1, 4, 4], ["is the group of 3 jobs, and Kueue places 2 together"]),
        ([4, 4], ["is a group without a job of one pod"]),
    ],
)
def test_a_group_is_of_two_jobs_one_of_which_has_one_pod(pods: list[int], what: list[str]) -> None:
    assert found(jobset(*(template(TOGETHER, each) for each in pods))) == what
