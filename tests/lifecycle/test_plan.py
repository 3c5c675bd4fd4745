"""TrainJob and observed JobSet in -> what to do next out. Rules: reference behaviour 4.5 to 4.9."""

from datetime import timedelta
from typing import Any

import pytest

from tests.lifecycle.worlds import (
    COUNTS,
    NOW,
    RUNTIME,
    SUSPENDED,
    condition,
    job,
    jobset,
    pod,
    seen,
    terminated,
    waits,
)
from trainer_infra.lifecycle.events import Event
from trainer_infra.lifecycle.plan import RETRY, ObjectRef, Plan, plan
from trainer_infra.render import pipeline, snapshot
from trainer_infra.render.behaviour import REFERENCE
from trainer_infra.render.observed_objects import ObservedObjects

CREATED = Event("Normal", "TrainJobResourcesCreated", "Applied JobSet tj")


def test_a_new_job_applies_snapshot_and_jobset() -> None:
    new = job()
    assert plan(new, RUNTIME, ObservedObjects(jobset=None), NOW) == Plan(
        create=(snapshot.config_map(new, RUNTIME),),
        apply=pipeline.render(new, RUNTIME),
        events=(
            Event(
                "Normal",
                "TrainJobResourcesCreated",
                "Applied ConfigMap tj-runtime-snapshot, JobSet tj",
            ),
        ),
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
        apply=pipeline.render(held, RUNTIME),
        status={"conditions": [SUSPENDED]},
        events=(Event("Normal", "TrainJobSuspended", "TrainJob is suspended"),),
    )


def test_resume_leaves_no_conditions_so_that_the_sdk_sees_the_job_running() -> None:
    resumed = job(status={"conditions": [SUSPENDED]})
    live = jobset(job(suspend=True))
    assert plan(resumed, RUNTIME, seen(resumed, live), NOW) == Plan(
        apply=pipeline.render(resumed, RUNTIME),
        status={"conditions": []},
        events=(Event("Normal", "TrainJobResumed", "TrainJob is resumed"),),
    )


def test_resume_leaves_the_condition_as_false_in_the_reference() -> None:
    resumed = job(status={"conditions": [SUSPENDED]})
    result = plan(resumed, RUNTIME, seen(resumed, jobset(job())), NOW, behaviour=REFERENCE)
    assert result.status == {
        "conditions": [
            {**SUSPENDED, "status": "False", "reason": "Resumed", "message": "TrainJob is resumed"}
        ]
    }


@pytest.mark.parametrize(
    ("theirs", "ours", "reason", "event"),
    [
        ("Completed", "Complete", "AllJobsCompleted", Event("Normal", "TrainJobComplete", "m")),
        (
            "Failed",
            "Failed",
            "FailedJobs",
            Event("Warning", "TrainJobFailed", "FailedJobs: m"),
        ),
    ],
)
def test_the_end_of_the_jobset_is_the_end_of_the_job(
    theirs: str, ours: str, reason: str, event: Event
) -> None:
    running = job()
    live = jobset(running, condition(theirs, "True", reason))
    assert plan(running, RUNTIME, seen(running, live), NOW) == Plan(
        status={"conditions": [condition(ours, "True", reason)]}, events=(event,)
    )


def test_failure_reason_in_the_message_is_the_pod_that_failed_first() -> None:
    running = job()
    live = jobset(running, condition("Failed", "True", "FailedJobs", "jobset failed"))
    pods = (pod("b", terminated(1, at=11)), pod("a", terminated(139, at=9)))
    result = plan(running, RUNTIME, seen(running, live, pods=pods), NOW)
    message = (
        "jobset failed; pod a: container node ended with exit code 139: "
        "a segmentation fault (SIGSEGV), commonly in the native code of a library"
    )
    assert result == Plan(
        status={"conditions": [condition("Failed", "True", "FailedJobs", message)]},
        events=(Event("Warning", "TrainJobFailed", f"FailedJobs: {message}"),),
    )
    exact = plan(running, RUNTIME, seen(running, live, pods=pods), NOW, behaviour=REFERENCE)
    assert exact.status == {
        "conditions": [condition("Failed", "True", "FailedJobs", "jobset failed")]
    }


def test_failed_is_final_whatever_becomes_of_the_jobset() -> None:
    failed = job(status={"conditions": [condition("Failed", "True", "FailedJobs")]})
    assert plan(failed, RUNTIME, seen(failed, None), NOW) == Plan()


def test_failed_jobs_run_again_in_the_reference_once_their_jobset_is_gone() -> None:
    failed = job(status={"conditions": [condition("Failed", "True", "FailedJobs")]})
    result = plan(failed, RUNTIME, seen(failed, None), NOW, behaviour=REFERENCE)
    again = pipeline.render(failed, RUNTIME, behaviour=REFERENCE)
    assert result == Plan(apply=again, status={"conditions": []})


def test_a_finished_job_applies_nothing_and_a_missing_jobset_is_no_matter() -> None:
    done = job(status={"conditions": [condition("Complete", "True", "AllJobsCompleted")]})
    assert plan(done, RUNTIME, seen(done, None), NOW) == Plan()


def test_before_the_deadline_it_says_when_to_look_again() -> None:
    limited = job(activeDeadlineSeconds=100)
    result = plan(limited, RUNTIME, seen(limited, jobset(limited)), NOW)
    assert result == Plan(requeue_after=70.0)


def test_past_the_deadline_the_job_fails_and_its_jobset_goes() -> None:
    limited = job(activeDeadlineSeconds=10)
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": "DeadlineExceeded",
        "message": "TrainJob exceeded its active deadline of 10 s",
        "lastTransitionTime": "2026-11-21T12:00:30Z",
    }
    assert plan(limited, RUNTIME, seen(limited, jobset(limited)), NOW) == Plan(
        delete=(ObjectRef("jobset.x-k8s.io/v1alpha2", "JobSet", "tj"),),
        status={"conditions": [failed]},
        events=(
            Event(
                "Warning",
                "TrainJobDeadlineExceeded",
                "TrainJob exceeded its active deadline of 10 s",
            ),
        ),
    )


def test_at_the_very_deadline_it_looks_again_after_a_second() -> None:
    limited = job(activeDeadlineSeconds=30)
    result = plan(limited, RUNTIME, seen(limited, jobset(limited)), NOW)
    assert result == Plan(requeue_after=1.0)


def test_a_deadline_that_passed_while_pods_waited_says_for_what() -> None:
    limited = job(activeDeadlineSeconds=10)
    pods = (pod("a", waits("ErrImagePull", "not found"), phase="Pending"),)
    result = plan(limited, RUNTIME, seen(limited, jobset(limited), pods=pods), NOW)
    (event,) = result.events
    assert event == Event(
        "Warning",
        "TrainJobDeadlineExceeded",
        (
            "TrainJob exceeded its active deadline of 10 s; pod a: the image of container node "
            "cannot be pulled: not found"
        ),
    )


def test_q13_the_deletion_past_the_deadline_is_repeated_until_the_jobset_is_gone() -> None:
    failed = job(
        activeDeadlineSeconds=10,
        status={"conditions": [condition("Failed", "True", "DeadlineExceeded")]},
    )
    gone = (ObjectRef("jobset.x-k8s.io/v1alpha2", "JobSet", "tj"),)
    live = jobset(failed)
    assert plan(failed, RUNTIME, seen(failed, live), NOW) == Plan(delete=gone)
    assert plan(failed, RUNTIME, seen(failed, live), NOW, behaviour=REFERENCE) == Plan()
    going = {**live, "metadata": {**live["metadata"], "deletionTimestamp": "2026-11-21T12:00:20Z"}}
    assert plan(failed, RUNTIME, seen(failed, going), NOW) == Plan()
    assert plan(failed, RUNTIME, seen(failed, None), NOW) == Plan()


def test_the_deadline_counts_from_the_last_resume() -> None:
    limited = job(activeDeadlineSeconds=15)
    live = jobset(limited, condition("Suspended", "False", "ResumeJobs"))
    assert plan(limited, RUNTIME, seen(limited, live), NOW) == Plan(requeue_after=5.0)


def test_resume_starts_the_deadline_when_jobset_has_resumed() -> None:
    resumed = job(activeDeadlineSeconds=15, status={"conditions": [SUSPENDED]})
    held = jobset(job(suspend=True), condition("Suspended", "True", "SuspendedJobs"))
    result = plan(resumed, RUNTIME, seen(resumed, held), NOW + timedelta(hours=1))
    assert (result.status, result.requeue_after) == ({"conditions": []}, 15.0)
    applied = jobset(resumed, condition("Suspended", "True", "SuspendedJobs"))
    later = plan(
        job(activeDeadlineSeconds=15), RUNTIME, seen(resumed, applied), NOW + timedelta(hours=1)
    )
    assert later == Plan(requeue_after=15.0)


def test_resume_starts_the_deadline_by_the_jobs_own_condition_in_the_reference() -> None:
    resumed = job(activeDeadlineSeconds=15, status={"conditions": [SUSPENDED]})
    result = plan(resumed, RUNTIME, seen(resumed, jobset(job())), NOW, behaviour=REFERENCE)
    assert result.requeue_after == 15.0


def test_a_suspended_job_has_no_deadline() -> None:
    held = job(activeDeadlineSeconds=10, suspend=True)
    assert plan(held, RUNTIME, seen(held, jobset(held)), NOW).requeue_after is None


def test_a_job_of_another_manager_is_left_alone() -> None:
    other = job(managedBy="kueue.x-k8s.io/multikueue")
    assert plan(other, RUNTIME, ObservedObjects(jobset=None), NOW) == Plan()


def test_what_cannot_be_rendered_is_an_event_and_leaves_the_conditions() -> None:
    broken = job(initializer={"model": {"storageUri": "hf://a/b"}})
    result = plan(broken, RUNTIME, ObservedObjects(jobset=None), NOW)
    assert (result.apply, result.status) == ((), None)
    (event,) = result.events
    assert result.requeue_after == RETRY
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
    assert plan(new, live, seen(new, None), NOW) == Plan(
        apply=pipeline.render(new, RUNTIME), events=(CREATED,)
    )


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
    result = plan(new, RUNTIME, ObservedObjects(jobset=None, snapshot=damaged), NOW)
    assert why in result.events[0].message
