"""TrainJob and observed JobSet in -> what to do next out. Rules: spec sections 4.5 to 4.9."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle.plan import ObjectRef, Plan, plan
from trainer_infra.render import pipeline, snapshot
from trainer_infra.render.observed import Observed

RUNTIME = catalog.get("jax-distributed")
CREATED = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOW = CREATED + timedelta(seconds=30)
SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "Suspended",
    "message": "TrainJob is suspended",
    "lastTransitionTime": "2026-11-21T12:00:30Z",
}
COUNTS = {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}


def job(status: dict[str, Any] | None = None, **spec: Any) -> TrainJob:
    wire: dict[str, Any] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "n", "creationTimestamp": "2026-11-21T12:00:00Z"},
        "spec": {"runtimeRef": {"name": "jax-distributed"}, **spec},
    }
    if status is not None:
        wire["status"] = status
    return TrainJob.from_wire(wire)


def jobset(train_job: TrainJob, *conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    (rendered,) = pipeline.render(train_job, RUNTIME)
    return {**rendered, "status": {"conditions": list(conditions), **status}}


def condition(kind: str, status: str, reason: str, message: str = "m") -> dict[str, Any]:
    time = "2026-11-21T12:00:20Z"
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": time,
    }


def seen(train_job: TrainJob, live: dict[str, Any] | None) -> Observed:
    return Observed(jobset=live, snapshot=snapshot.config_map(train_job, RUNTIME))


def test_a_new_job_applies_snapshot_and_jobset() -> None:
    new = job()
    assert plan(new, RUNTIME, Observed(jobset=None), NOW) == Plan(
        apply=(snapshot.config_map(new, RUNTIME), *pipeline.render(new, RUNTIME))
    )


def test_a_running_jobset_is_never_updated_and_its_counts_are_copied() -> None:
    running = job()
    live = jobset(running, replicatedJobsStatus=[COUNTS])
    assert plan(running, RUNTIME, seen(running, live), NOW) == Plan(status={"jobsStatus": [COUNTS]})


def test_nothing_changed_is_no_status() -> None:
    running = job(status={"jobsStatus": [COUNTS]})
    live = jobset(running, replicatedJobsStatus=[COUNTS])
    assert plan(running, RUNTIME, seen(running, live), NOW) == Plan()


def test_suspending_applies_the_suspended_jobset_and_says_so() -> None:
    held = job(suspend=True)
    live = jobset(job())
    assert plan(held, RUNTIME, seen(held, live), NOW) == Plan(
        apply=pipeline.render(held, RUNTIME), status={"conditions": [SUSPENDED]}
    )


def test_a_resumed_job_has_no_conditions_so_that_the_sdk_sees_it_running() -> None:
    resumed = job(status={"conditions": [SUSPENDED]})
    live = jobset(job(suspend=True))
    assert plan(resumed, RUNTIME, seen(resumed, live), NOW) == Plan(
        apply=pipeline.render(resumed, RUNTIME), status={"conditions": []}
    )


def test_a_resumed_job_like_the_reference_keeps_the_condition_as_false() -> None:
    resumed = job(status={"conditions": [SUSPENDED]})
    result = plan(resumed, RUNTIME, seen(resumed, jobset(job())), NOW, like_reference=True)
    assert result.status == {
        "conditions": [
            {**SUSPENDED, "status": "False", "reason": "Resumed", "message": "TrainJob is resumed"}
        ]
    }


@pytest.mark.parametrize(
    ("theirs", "ours", "reason"),
    [("Completed", "Complete", "AllJobsCompleted"), ("Failed", "Failed", "FailedJobs")],
)
def test_the_end_of_the_jobset_is_the_end_of_the_job(theirs: str, ours: str, reason: str) -> None:
    running = job()
    live = jobset(running, condition(theirs, "True", reason))
    assert plan(running, RUNTIME, seen(running, live), NOW) == Plan(
        status={"conditions": [condition(ours, "True", reason)]}
    )


def test_a_finished_job_applies_nothing_and_a_missing_jobset_is_no_matter() -> None:
    done = job(status={"conditions": [condition("Complete", "True", "AllJobsCompleted")]})
    assert plan(done, RUNTIME, seen(done, None), NOW) == Plan()


def test_before_the_deadline_it_says_when_to_look_again() -> None:
    limited = job(activeDeadlineSeconds=100)
    result = plan(limited, RUNTIME, seen(limited, jobset(limited)), NOW)
    assert result == Plan(requeue_after=70.0)


def test_past_the_deadline_the_job_fails_and_its_jobset_goes() -> None:
    limited = job(activeDeadlineSeconds=10)
    assert plan(limited, RUNTIME, seen(limited, jobset(limited)), NOW) == Plan(
        delete=(ObjectRef("jobset.x-k8s.io/v1alpha2", "JobSet", "tj"),),
        status={
            "conditions": [
                {
                    "type": "Failed",
                    "status": "True",
                    "reason": "DeadlineExceeded",
                    "message": "TrainJob exceeded its active deadline",
                    "lastTransitionTime": "2026-11-21T12:00:30Z",
                }
            ]
        },
    )


def test_q13_the_deletion_past_the_deadline_is_repeated_until_the_jobset_is_gone() -> None:
    failed = job(
        activeDeadlineSeconds=10,
        status={"conditions": [condition("Failed", "True", "DeadlineExceeded")]},
    )
    gone = (ObjectRef("jobset.x-k8s.io/v1alpha2", "JobSet", "tj"),)
    assert plan(failed, RUNTIME, seen(failed, jobset(failed)), NOW) == Plan(delete=gone)
    assert plan(failed, RUNTIME, seen(failed, None), NOW) == Plan()


def test_the_deadline_counts_from_the_last_resume() -> None:
    limited = job(activeDeadlineSeconds=15)
    live = jobset(limited, condition("Suspended", "False", "ResumeJobs"))
    assert plan(limited, RUNTIME, seen(limited, live), NOW) == Plan(requeue_after=5.0)


def test_a_suspended_job_has_no_deadline() -> None:
    held = job(activeDeadlineSeconds=10, suspend=True)
    assert plan(held, RUNTIME, seen(held, jobset(held)), NOW).requeue_after is None


def test_a_job_of_another_manager_is_left_alone() -> None:
    other = job(managedBy="kueue.x-k8s.io/multikueue")
    assert plan(other, RUNTIME, Observed(jobset=None), NOW) == Plan()


def test_what_cannot_be_rendered_is_an_event_and_leaves_the_conditions() -> None:
    broken = job(initializer={"model": {"storageUri": "hf://a/b"}})
    result = plan(broken, RUNTIME, Observed(jobset=None), NOW)
    assert (result.apply, result.status) == ((), None)
    (event,) = result.events
    assert (event.type, event.reason) == ("Warning", "TrainJobResourcesCreationFailed")
    assert event.message.startswith(
        "TrainJob resources reconciliation failed: TrainJob tj: spec.runtimeRef: must have "
        "model-initializer job"
    )


def test_the_snapshot_is_used_instead_of_the_live_runtime() -> None:
    new = job()
    edited = RUNTIME.to_wire()
    pods = edited["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pods["spec"]["containers"][0]["image"] = "edited"
    live = type(RUNTIME).from_wire(edited)
    assert plan(new, live, seen(new, None), NOW) == Plan(apply=pipeline.render(new, RUNTIME))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"data": {}}, 'snapshot ConfigMap missing "runtime" data key'),
        ({"data": {"runtime": "kind: ["}}, "unable to unmarshal the snapshot"),
    ],
)
def test_a_damaged_snapshot_is_named(change: dict[str, Any], why: str) -> None:
    new = job()
    damaged = {**snapshot.config_map(new, RUNTIME), **change}
    result = plan(new, RUNTIME, Observed(jobset=None, snapshot=damaged), NOW)
    assert why in result.events[0].message
