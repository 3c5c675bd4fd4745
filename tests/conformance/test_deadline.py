"""Reference behaviour 4.8: activeDeadlineSeconds.

Seconds pass here, since that is what is tried; none is counted, so a busy machine is only slower.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance import job_set_policy, objects
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def created(place: Place) -> datetime:
    return time_of(place.find("TrainJob", "a")["metadata"]["creationTimestamp"])


def until_past(place: Place, moment: datetime) -> None:
    """Return after that moment; the times of objects are whole seconds."""
    place.until(lambda: datetime.now(UTC) > moment + timedelta(seconds=1))


@rule(
    "4.8-exceeded",
    "4.8-from-creation",
    "4.8-job-set-deleted",
    differs=(Deviation.FAILURE_REASON,),
)
def test_a_train_job_past_its_deadline_has_failed(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(activeDeadlineSeconds=2))
    said = place.until_condition("Failed", "True")
    assert said["reason"] == "DeadlineExceeded"
    longer = " of 2 s" if place.deviates(Deviation.FAILURE_REASON) else ""
    assert said["message"] == "TrainJob exceeded its active deadline" + longer
    assert time_of(said["lastTransitionTime"]) >= created(place) + timedelta(seconds=2)
    assert place.find("ConfigMap", "a-runtime-snapshot")  # a JobSet was made with it
    place.until(lambda: not place.find("JobSet", "a"))
    place.settle()
    assert place.find("JobSet", "a") == {}
    assert place.condition("Failed")["reason"] == "DeadlineExceeded"


@rule("4.8-unset")
def test_a_train_job_without_a_deadline_has_none(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    place.job_set()
    until_past(place, created(place) + timedelta(seconds=1))
    place.touch("again")
    place.settle()
    assert place.condition("Failed") == {}


@rule("4.8-suspended")
def test_a_suspended_train_job_has_no_deadline(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True, activeDeadlineSeconds=1))
    place.job_set()
    until_past(place, created(place) + timedelta(seconds=1))
    place.touch("again")
    place.settle()
    assert place.condition("Failed") == {}


@rule("4.8-finished")
def test_a_finished_train_job_has_no_deadline(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True, activeDeadlineSeconds=1))
    completed = objects.condition("Completed", reason="AllJobsCompleted", message="completed")
    place.job_set_says(conditions=[completed])
    place.until_condition("Complete", "True")
    until_past(place, created(place) + timedelta(seconds=1))
    place.suspend(False)
    place.settle()
    assert place.condition("Failed") == {}
    assert place.find("JobSet", "a")


@rule("4.8-resumed", "4.8-exceeded", differs=(Deviation.RESUME,))
def test_after_a_resume_the_deadline_counts_anew(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True, activeDeadlineSeconds=3))
    place.until_condition("Suspended", "True")
    place.job_set_says(conditions=[objects.condition("Suspended")])
    place.change("JobSet", "a", {"metadata": {"finalizers": ["example.com/held"]}})
    until_past(place, created(place) + timedelta(seconds=3))
    place.suspend(False)
    place.until(lambda: not place.job_set()["spec"]["suspend"])
    resumed = datetime.now(UTC).replace(microsecond=0)
    when = resumed.strftime("%Y-%m-%dT%H:%M:%SZ")
    said = objects.condition("Suspended", "False", reason="ResumeJobs", lastTransitionTime=when)
    place.job_set_says(conditions=[said])
    start = resumed if place.deviates(Deviation.RESUME) else _resumed(place)
    failed = place.until_condition("Failed", "True")
    assert failed["reason"] == "DeadlineExceeded"
    assert time_of(failed["lastTransitionTime"]) >= start + timedelta(seconds=3)


def _resumed(place: Place) -> datetime:
    return time_of(place.condition("Suspended")["lastTransitionTime"])


@rule("4.8-delete-tried-once", differs=(Deviation.Q13,))
def test_a_job_set_that_could_not_be_deleted_stays(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True, activeDeadlineSeconds=1))
    place.job_set()
    job_set_policy.refuse(place, "DELETE", "not now")
    place.suspend(False)
    assert place.until_condition("Failed", "True")["reason"] == "DeadlineExceeded"
    job_set_policy.allow(place, "DELETE")
    place.touch("again")
    if place.deviates(Deviation.Q13):
        place.until(lambda: not place.find("JobSet", "a"))
    else:
        place.settle()
        assert place.find("JobSet", "a")
