"""Reference behaviour 4.1 and 4.6: passes over a TrainJob, what they make and what wakes them."""

from typing import Any

import pytest

from tests.conformance import job_set_policy, objects
from tests.conformance.implementations import Apart
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

FINALIZER = "trainer.kubeflow.org/resource-in-use"
MPI = [objects.job("node", None), objects.job("launcher")]
COMPLETED = objects.condition("Completed", reason="AllJobsCompleted", message="completed")
FAILED = objects.condition("Failed", reason="FailedJobs", message="failed")


@rule("4.1-framework", "4.6-managed-by-own")
def test_a_train_job_that_names_this_controller_gets_its_job_set(place: Place) -> None:
    managed = {"managedBy": "trainer.kubeflow.org/trainjob-controller"}
    place.add(objects.runtime(), objects.train_job(**managed))
    assert place.job_set()["metadata"]["name"] == "a"


@rule("4.1-finalizer")
@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_the_finalizer_of_older_releases_is_taken_off(place: Place, kind: str) -> None:
    runtime = objects.runtime(place.name, kind=kind)
    runtime["metadata"]["finalizers"] = ["example.com/own", FINALIZER]
    place.add(runtime)
    place.until(
        lambda: place.find(kind, place.name)["metadata"]["finalizers"] == ["example.com/own"]
    )
    place.change(kind, place.name, {"metadata": {"finalizers": None}})


@rule("4.1-train-job-metadata")
def test_labels_and_annotations_of_a_train_job_stay_on_it(place: Place) -> None:
    metadata = {"labels": {"example.com/a": "b"}, "annotations": {"example.com/c": "d"}}
    place.add(objects.runtime(), objects.train_job(metadata=metadata))
    assert not {"labels", "annotations"} & set(place.job_set()["metadata"])


@rule("4.6-gone")
def test_a_train_job_that_is_gone_has_nothing_made_for_it(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    place.job_set()
    place.delete("TrainJob", "a")
    place.settle()
    place.delete("JobSet", "a")
    place.settle()
    assert place.find("JobSet", "a") == {}


@rule("4.6-managed-by-other")
def test_a_train_job_of_another_controller_is_left_alone(place: Place) -> None:
    managed = {"managedBy": "kueue.x-k8s.io/multikueue"}
    place.add(objects.runtime(), objects.train_job(suspend=True, **managed))
    place.settle()
    assert place.find("JobSet", "a") == {}
    assert place.find("ConfigMap", "a-runtime-snapshot") == {}
    assert place.status() == {}


@rule("4.6-unsupported", differs=(Deviation.Q13,))
def test_an_unknown_kind_of_runtime_makes_no_objects(unjudged: Place) -> None:
    train_job = objects.train_job(kind="Runtime")
    unjudged.add(train_job)
    if unjudged.deviates(Deviation.Q13):
        said = unjudged.until_condition("Failed", "True")
        assert (said["reason"], said["message"]) == (
            "TrainingRuntimeNotSupported",
            "unsupported runtime: Runtime.trainer.kubeflow.org",
        )
    unjudged.settle()
    assert unjudged.find("JobSet", "a") == {}
    if not unjudged.deviates(Deviation.Q13):
        assert unjudged.status() == {}


@rule("4.6-applied")
def test_objects_are_applied_under_one_name(place: Place) -> None:
    place.add(objects.runtime("runtime", *MPI, policy={"mpi": {}}), objects.train_job())
    owners = [
        *place.job_set()["metadata"]["managedFields"],
        *place.until(lambda: place.find("ConfigMap", "a-mpi-hostfile"))["metadata"][
            "managedFields"
        ],
    ]
    assert {(each["manager"], each["operation"]) for each in owners} == {("trainer", "Apply")}


@rule("4.6-error-event", "4.6-status-after-error", "4.6-no-condition-of-error")
def test_an_error_is_an_event_and_no_condition(unjudged: Place) -> None:
    train_job = unjudged.add(objects.train_job(suspend=True))
    event = unjudged.until_failure("TrainJob resources reconciliation failed: ")
    assert (event["type"], event["action"]) == ("Warning", "Reconciling")
    assert event["reportingController"] == "trainer-trainjob-controller"
    assert event["regarding"] == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": "a",
        "namespace": unjudged.name,
        "uid": train_job["metadata"]["uid"],
        "resourceVersion": event["regarding"]["resourceVersion"],
    }
    unjudged.until_condition("Suspended", "True")
    assert [each["type"] for each in unjudged.status()["conditions"]] == ["Suspended"]


@rule("4.6-long-error", "4.6-no-condition-of-error")
def test_a_long_error_is_cut_in_its_event(place: Place) -> None:
    job_set_policy.refuse(place, "CREATE", "x" * 1_000)
    place.add(objects.runtime(), objects.train_job())
    note = place.until_failure("denied request")["note"]
    cut = note.removeprefix("TrainJob resources reconciliation failed: ")
    assert (len(cut), cut[-6:]) == (954, "xx ...")
    assert place.status() == {}


@rule("4.6-retry")
def test_a_pass_that_failed_is_tried_again(unjudged: Place) -> None:
    unjudged.add(objects.train_job())
    unjudged.until_failure("not found")
    unjudged.add(objects.runtime())
    assert unjudged.job_set()["metadata"]["name"] == "a"


@rule("4.6-unchanged-status")
def test_a_status_that_stays_the_same_is_not_written(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True))
    place.until_condition("Suspended", "True")
    place.touch("again")
    version = place.find("TrainJob", "a")["metadata"]["resourceVersion"]
    place.settle()
    assert place.find("TrainJob", "a")["metadata"]["resourceVersion"] == version


@rule("4.6-finished-objects", "4.6-finished-status", "4.6-finished-kept")
def test_a_complete_train_job_keeps_its_status_and_gets_nothing_more(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    place.job_set_says(conditions=[COMPLETED])
    place.until_condition("Complete", "True")
    place.settle()
    assert place.find("JobSet", "a")
    assert place.find("ConfigMap", "a-runtime-snapshot")
    place.job_set_says(replicatedJobsStatus=[objects.job_status("node", succeeded=1)])
    place.until(lambda: place.status().get("jobsStatus"))
    place.delete("JobSet", "a")
    place.delete("ConfigMap", "a-runtime-snapshot")
    place.touch("again")
    place.settle()
    assert place.find("JobSet", "a") == {}
    assert place.find("ConfigMap", "a-runtime-snapshot") == {}
    assert place.condition("Complete")["status"] == "True"


@rule("4.6-failed-again", differs=(Deviation.FAILED,))
def test_a_failed_train_job_whose_job_set_is_gone_starts_again(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    first = place.job_set()["metadata"]["uid"]
    place.job_set_says(conditions=[FAILED])
    place.until_condition("Failed", "True")
    place.delete("JobSet", "a")
    if place.deviates(Deviation.FAILED):
        place.touch("again")
        place.settle()
        assert place.find("JobSet", "a") == {}
        assert place.condition("Failed")["status"] == "True"
    else:
        place.until(
            lambda: place.find("JobSet", "a").get("metadata", {}).get("uid", first) != first
        )
        # Until the new JobSet counts its pods, Failed stays: the status would be empty without it,
        # and the schema refuses an empty status.
        place.job_set_says(replicatedJobsStatus=[objects.job_status("node", active=1)])
        place.until(lambda: not place.condition("Failed"))


@rule("4.6-job-set-event")
def test_a_job_set_that_is_deleted_is_made_again(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    first = place.job_set()["metadata"]["uid"]
    place.delete("JobSet", "a")
    place.until(lambda: place.find("JobSet", "a").get("metadata", {}).get("uid", first) != first)


def until_made_again(place: Place, kind: str, name: str) -> None:
    """Delete an object, and return when another one is there."""
    first = place.until(lambda: place.find(kind, name))["metadata"]["uid"]
    place.delete(kind, name)
    place.until(lambda: bool(found := place.find(kind, name)) and found["metadata"]["uid"] != first)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(
            "ConfigMap",
            "a-mpi-hostfile",
            marks=rule("4.6-config-map-event", differs=(Apart.CHILDREN,)),
        ),
        pytest.param(
            "Secret", "a-mpi-ssh-auth", marks=rule("4.6-secret-event", differs=(Apart.CHILDREN,))
        ),
    ],
)
def test_an_object_that_is_deleted_is_made_again(place: Place, kind: str, name: str) -> None:
    place.add(objects.runtime("runtime", *MPI, policy={"mpi": {}}), objects.train_job())
    if not place.deviates(Apart.CHILDREN):
        until_made_again(place, kind, name)
        return
    place.until(lambda: place.find(kind, name))
    place.delete(kind, name)
    place.settle()
    assert not place.find(kind, name)


@rule("4.6-pod-group-event")
def test_a_pod_group_of_a_suspended_train_job_is_made_again(place: Place) -> None:
    gang: JSON = {"coscheduling": {}}
    place.add(objects.runtime("runtime", gang=gang), objects.train_job(suspend=True))
    until_made_again(place, "PodGroup", "a")
