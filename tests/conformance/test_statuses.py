"""Reference behaviour 4.7: what a TrainJob's status says of its JobSet."""

from typing import Any

import pytest

from tests.conformance import objects
from tests.conformance.places import Place, by_type
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

COMPLETED = objects.condition("Completed", reason="AllJobsCompleted", message="all completed")
FAILED = objects.condition("Failed", reason="FailedJobs", message="jobset failed")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        pytest.param(COMPLETED, "Complete", marks=rule("4.7-complete")),
        pytest.param(FAILED, "Failed", marks=rule("4.7-failed")),
    ],
)
def test_the_end_of_a_job_set_is_that_of_its_train_job(place: Place, said: JSON, kind: str) -> None:
    place.add(objects.runtime(), objects.train_job())
    place.job_set_says(conditions=[said])
    assert place.until_condition(kind, "True") == {**said, "type": kind}


@rule("4.7-false", "4.7-not-copied")
def test_other_conditions_of_a_job_set_are_not_copied(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    others = ("Suspended", "StartupPolicyInProgress", "StartupPolicyCompleted")
    conditions = [
        *(objects.condition(each) for each in others),
        objects.condition("Completed", "False"),
        objects.condition("Failed", "False"),
    ]
    job = objects.job_status("node", active=1)
    place.job_set_says(conditions=conditions, replicatedJobsStatus=[job])
    place.until(lambda: place.status().get("jobsStatus"))
    assert by_type(place.status()) == {}


@rule("4.7-jobs-status", "4.7-jobs-status-replaced")
def test_jobs_status_has_the_counts_of_each_replicated_job(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    first = objects.job_status("node", ready=1, succeeded=2, failed=3, active=4, suspended=5)
    other = objects.job_status("other", active=1)
    place.job_set_says(replicatedJobsStatus=[first, other])
    place.until(lambda: place.status().get("jobsStatus") == [first, other])
    last = objects.job_status("node", succeeded=4)
    place.job_set_says(replicatedJobsStatus=[last])
    place.until(lambda: place.status().get("jobsStatus") == [last])


@rule("4.7-deadline-kept", differs=(Deviation.FAILURE_REASON,))
def test_a_deadline_stays_the_reason_whatever_the_job_set_says(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True, activeDeadlineSeconds=1))
    place.job_set_says(conditions=[objects.condition("Suspended")])
    place.change("JobSet", "a", {"metadata": {"finalizers": ["example.com/held"]}})
    place.suspend(False)
    place.until(lambda: not place.job_set()["spec"]["suspend"])
    place.job_set_says(conditions=[objects.condition("Suspended", "False")])
    assert place.until_condition("Failed", "True")["reason"] == "DeadlineExceeded"
    job = objects.job_status("node", failed=1)
    place.job_set_says(conditions=[FAILED], replicatedJobsStatus=[job])
    place.until(lambda: place.status().get("jobsStatus") == [job])
    said = place.condition("Failed")
    assert said["reason"] == "DeadlineExceeded"
    assert said["message"].startswith("TrainJob exceeded its active deadline")
    place.change("JobSet", "a", {"metadata": {"finalizers": None}})


@rule("4.7-progress-kept")
def test_progress_stays_when_the_status_follows_the_job_set(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    progress = {"progressPercentage": 40, "lastUpdatedTime": "2026-01-02T03:04:05Z"}
    place.change("TrainJob", "a", {"status": {"trainerStatus": progress}}, "status")
    place.job_set_says(conditions=[COMPLETED])
    place.until_condition("Complete", "True")
    assert place.status()["trainerStatus"] == progress
