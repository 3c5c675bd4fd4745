"""runPolicy becomes fields of the TrainJob, of its runtime, or a note."""

from typing import Any

import pytest

from tests.migrate.jobs import jobs_of, migrated, notes, pod, refusal, runtime_of, v1


def jax(workers: Any = 2, **run_policy: Any) -> dict[str, Any]:
    return v1("JAXJob", spec={"runPolicy": run_policy}, Worker=workers)


def told(job: dict[str, Any]) -> list[str]:
    """The notes on its run policy."""
    return [each for each in notes(job) if "runPolicy" in each]


def test_what_a_train_job_has_a_field_or_an_annotation_for_is_carried() -> None:
    job = jax(
        suspend=True,
        activeDeadlineSeconds=60,
        managedBy="kueue.x-k8s.io/multikueue",
        ttlSecondsAfterFinished=5,
        cleanPodPolicy="Running",
    )
    made = migrated(job).train_job.to_wire()
    assert {
        key: made["spec"][key] for key in ("suspend", "activeDeadlineSeconds", "managedBy")
    } == {
        "suspend": True,
        "activeDeadlineSeconds": 60,
        "managedBy": "kueue.x-k8s.io/multikueue",
    }
    annotations = {"trainer-infra.dev/ttl-seconds-after-finished": "5"}
    assert made["metadata"]["annotations"] == annotations
    assert told(job) == []


def test_the_operators_own_name_as_manager_is_the_default() -> None:
    made = migrated(jax(managedBy="kubeflow.org/training-operator")).train_job
    assert made.spec.managed_by is None
    assert refusal(jax(managedBy="me.io/x")) == [
        (
            "spec.runPolicy.managedBy: is not a manager that v2 knows, got 'me.io/x'; remove it, or use "
            "kueue.x-k8s.io/multikueue"
        )
    ]


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        ("None", "pods that still run when the job has ended are ended, as with Running"),
        (
            "All",
            (
                "ended pods are kept until the TrainJob goes: delete it, or give it "
                "ttlSecondsAfterFinished"
            ),
        ),
    ],
)
def test_pods_are_cleaned_up_as_with_running(policy: str, note: str) -> None:
    assert told(jax(cleanPodPolicy=policy)) == [
        f"spec.runPolicy.cleanPodPolicy: {policy!r}: {note}"
    ]


def test_a_queue_is_volcanos() -> None:
    scheduling = {
        "queue": "q",
        "priorityClass": "system-node-critical",
        "minAvailable": 2,
        "scheduleTimeoutSeconds": 9,
    }
    job = jax(schedulingPolicy=scheduling)
    runtime = runtime_of(job)
    assert runtime["podGroupPolicy"] == {"volcano": {}}
    assert runtime["template"]["metadata"] == {
        "annotations": {"scheduling.volcano.sh/queue-name": "q"}
    }
    spec = jobs_of(job)["node"]["template"]["spec"]
    assert (spec["schedulerName"], spec["priorityClassName"]) == ("volcano", "system-node-critical")
    assert told(job) == [
        (
            "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds: 9: is lost: Volcano does not read "
            "it, in v1 neither"
        )
    ]


def test_without_a_queue_it_is_coscheduling() -> None:
    job = jax(schedulingPolicy={"scheduleTimeoutSeconds": 9, "minAvailable": 1})
    assert runtime_of(job)["podGroupPolicy"] == {"coscheduling": {"scheduleTimeoutSeconds": 9}}
    (fewer, scheduler) = told(job)
    assert fewer == (
        "spec.runPolicy.schedulingPolicy.minAvailable: 1: all 2 pods are placed at once"
    )
    assert "set schedulerName in the runtime's pods" in scheduler


def test_the_pods_own_scheduler_decides() -> None:
    template = pod("jax")
    template["spec"]["schedulerName"] = "plugins"
    workers = {"replicas": 1, "template": template}
    job = jax(workers, schedulingPolicy={"queue": "q", "minResources": {"cpu": 1}})
    assert runtime_of(job)["podGroupPolicy"] == {"coscheduling": {}}
    assert told(job) == [
        (
            "spec.runPolicy.schedulingPolicy.minResources: {'cpu': 1}: is lost: v2 adds up what the "
            "pods request"
        ),
        (
            "spec.runPolicy.schedulingPolicy.queue: 'q': is lost: coscheduling does not read it, in "
            "v1 neither"
        ),
    ]


def test_what_the_first_operators_had_in_the_spec_is_read_and_told() -> None:
    job = v1("JAXJob", spec={"ttlSecondsAfterFinished": 5, "backoffLimit": 2}, Worker=1)
    metadata = migrated(job).train_job.to_wire()["metadata"]
    assert metadata["annotations"] == {"trainer-infra.dev/ttl-seconds-after-finished": "5"}
    why = "is read as of runPolicy: the first operators had it here, the last one did not read it here"
    assert [each for each in notes(job) if "runPolicy" in each] == [
        f"spec.ttlSecondsAfterFinished: 5: {why}",
        f"spec.backoffLimit: 2: {why}",
    ]
    both = jax(ttlSecondsAfterFinished=9)
    both["spec"]["ttlSecondsAfterFinished"] = 5
    metadata = migrated(both).train_job.to_wire()["metadata"]
    assert metadata["annotations"] == {"trainer-infra.dev/ttl-seconds-after-finished": "9"}
    assert told(both) == ["spec.ttlSecondsAfterFinished: 5: is lost: runPolicy has another"]
