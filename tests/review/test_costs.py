"""What a change costs, beside what was there before."""

import copy
from typing import Any

from tests.review import checked
from trainer_infra import catalog
from trainer_infra.review import costs
from trainer_infra.review.documents import Document

JSON = dict[str, Any]
RUNTIME: JSON = {
    **catalog.get("torch-distributed").to_wire(),
    "kind": "TrainingRuntime",
    "metadata": {
        "name": "own",
        "namespace": "team",
        "labels": {"trainer.kubeflow.org/framework": "torch"},
    },
}
JOB: JSON = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "job", "namespace": "team"},
    "spec": {
        "runtimeRef": {"name": "own", "kind": "TrainingRuntime"},
        "activeDeadlineSeconds": 3600,
        "trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 2}}},
    },
}


def nodes(value: JSON, count: int, *path: str) -> JSON:
    changed = copy.deepcopy(value)
    place = changed["spec"]
    for each in path:
        place = place[each]
    place["numNodes"] = count
    return changed


def noted(now: list[JSON], then: list[JSON]) -> list[str]:
    here, there = ([Document(each, "a.yaml", None) for each in values] for values in (now, then))
    return [*costs.cost_notes(here, there, checked.by("gpu-hours")).values()]


def test_what_did_not_change_costs_what_it_did() -> None:
    now = [nodes(RUNTIME, 1, "mlPolicy"), JOB]
    assert noted(now, copy.deepcopy(now)) == ["2.00, as before"]


def test_a_runtime_changes_what_its_unchanged_jobs_cost() -> None:
    now, then = ([nodes(RUNTIME, count, "mlPolicy"), JOB] for count in (4, 1))
    assert noted(now, then) == ["8.00, was 2.00 (+6.00)"]


def test_a_changed_job_and_one_that_is_gone() -> None:
    runtime = nodes(RUNTIME, 1, "mlPolicy")
    other = {**JOB, "metadata": {"name": "other", "namespace": "team"}}
    now, then = [runtime, nodes(JOB, 3, "trainer")], [runtime, JOB, other]
    assert noted(now, then) == ["6.00, was 4.00 (+2.00)"]
