"""Reference behaviour 1.6 and 5.1: what may change in a TrainJob that exists."""

from typing import Any

import pytest

from tests.conformance import admission, objects
from tests.conformance.objects import DATASET
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

PATCHES = "spec.runtimePatches"
FULL: JSON = {
    "initializer": {"dataset": {"storageUri": "hf://a/b"}},
    "trainer": {"numNodes": 1},
    "activeDeadlineSeconds": 10_000,
    "managedBy": "trainer.kubeflow.org/trainjob-controller",
}
RUNTIME = objects.runtime("runtime", objects.initializer(DATASET), objects.job())
IMMUTABLE = {
    "runtimeRef": pytest.param(
        {"runtimeRef": {"name": "other"}}, marks=rule("1.6-runtime-ref", "5-schema")
    ),
    "initializer": pytest.param(
        {"initializer": {"dataset": {"storageUri": "hf://a/c"}}}, marks=rule("1.6-initializer")
    ),
    "trainer": pytest.param({"trainer": {"numNodes": 2}}, marks=rule("1.6-trainer")),
    "activeDeadlineSeconds": pytest.param(
        {"activeDeadlineSeconds": 20_000}, marks=rule("1.6-deadline")
    ),
    "managedBy": pytest.param(
        {"managedBy": "kueue.x-k8s.io/multikueue"}, marks=rule("1.6-managed-by")
    ),
}
SELECTOR = {"a": "b"}


@pytest.mark.parametrize("change", IMMUTABLE.values(), ids=IMMUTABLE)
@pytest.mark.parametrize("suspend", [True, False])
def test_what_never_changes(place: Place, change: JSON, suspend: bool) -> None:
    place.add(RUNTIME, objects.train_job(suspend=suspend, **FULL))
    answer = place.merge("TrainJob", "a", {"spec": change})
    (field,) = change
    assert answer.status == 422
    assert f"spec.{field}: Invalid value: " in answer.message
    assert "field is immutable" in answer.message


@rule("1.6-metadata", "1.6-suspend")
def test_labels_annotations_and_suspend_change_at_any_time(place: Place) -> None:
    place.add(RUNTIME, objects.train_job(**FULL))
    keys = {"example.com/a": "b"}
    for suspend in (False, True, False):
        metadata = {"labels": keys, "annotations": {**keys, "example.com/c": str(suspend)}}
        place.change("TrainJob", "a", {"metadata": metadata, "spec": {"suspend": suspend}})


@rule("1.6-added-later", differs=(Deviation.Q12,))
@pytest.mark.parametrize("field", ["initializer", "trainer", "activeDeadlineSeconds"])
def test_an_optional_field_is_added_and_removed(place: Place, field: str) -> None:
    place.add(RUNTIME, objects.train_job("without"), objects.train_job("with", **FULL))
    added = place.merge("TrainJob", "without", {"spec": {field: FULL[field]}})
    removed = place.merge("TrainJob", "with", {"spec": {field: None}})
    for answer in (added, removed):
        if place.deviates(Deviation.Q12):
            assert answer.status == 403
            assert f"spec.{field}: " in answer.message
            assert "field is immutable" in answer.message
        else:
            assert answer.message == ""


@rule("1.6-patch-fields")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"serviceAccountName": "a"}, {"serviceAccountName": "b"}),
        ({"securityContext": {"runAsUser": 1}}, {"securityContext": {"runAsUser": 2}}),
        ({"terminationGracePeriodSeconds": 1}, {"terminationGracePeriodSeconds": 2}),
        ({"imagePullSecrets": [{"name": "a"}]}, {"imagePullSecrets": [{"name": "b"}]}),
        (
            {"volumes": [{"name": "a", "emptyDir": {}}]},
            {"volumes": [{"name": "b", "emptyDir": {}}]},
        ),
        (
            {"containers": [{"name": "node"}]},
            {"containers": [{"name": "node", "securityContext": {"runAsUser": 1}}]},
        ),
    ],
    ids=lambda each: next(iter(each)),
)
def test_a_field_of_a_patch_that_the_schema_calls_immutable_stays(
    place: Place, old: JSON, new: JSON
) -> None:
    before, after = objects.patch(**old), objects.patch(**new)
    place.add(objects.runtime(), objects.train_job(suspend=True, runtimePatches=[before]))
    answer = place.merge("TrainJob", "a", {"spec": {"runtimePatches": [after]}})
    assert answer.status == 422
    assert "field is immutable" in answer.message


@rule("1.6-patches")
def test_an_entry_is_added_and_removed_while_suspended(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True))
    first, second = (
        objects.patch(f"example.com/{each}", nodeSelector=SELECTOR) for each in ("a", "b")
    )
    for patches in ([first], [first, second], [second], []):
        place.change("TrainJob", "a", {"spec": {"runtimePatches": patches}})


@rule("5.1-patches-running")
def test_patches_do_not_change_while_the_train_job_runs(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    patch = objects.patch(nodeSelector=SELECTOR)
    answer = place.merge("TrainJob", "a", {"spec": {"runtimePatches": [patch]}})
    text = "RuntimePatches can only be modified when the TrainJob is suspended before or after"
    admission.assert_refused(
        place, answer, admission.TRAIN_JOB, admission.forbidden(PATCHES, f"{text} the update")
    )


@rule("5.1-patches-suspending")
def test_they_change_in_the_request_that_suspends(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    patch = objects.patch(nodeSelector=SELECTOR)
    place.suspend(True, runtimePatches=[patch])


@rule("5.1-patches-resuming")
def test_they_change_in_the_request_that_resumes(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True))
    place.suspend(False, runtimePatches=[objects.patch(nodeSelector=SELECTOR)])


@rule("5.1-patches-same")
def test_patches_that_mean_the_same_have_not_changed(place: Place) -> None:
    patch = objects.patch(nodeSelector=SELECTOR)
    place.add(objects.runtime(), objects.train_job(runtimePatches=[patch]))
    same = objects.patch(nodeSelector=SELECTOR, tolerations=[])
    stored = place.change("TrainJob", "a", {"spec": {"runtimePatches": [same]}})
    assert stored["spec"]["runtimePatches"][0]["manager"] == objects.MANAGER


@rule("5.1-patches-active")
def test_patches_do_not_change_while_a_job_is_active(place: Place) -> None:
    jobs = [objects.job(), objects.job("other", None), objects.job("done", None)]
    place.add(objects.runtime("runtime", *jobs), objects.train_job())
    counts = [
        objects.job_status("node", active=1),
        objects.job_status("other", active=2),
        objects.job_status("done", succeeded=1),
    ]
    place.job_set_says(replicatedJobsStatus=counts)
    place.until(lambda: place.status().get("jobsStatus") == counts)
    patch = objects.patch(nodeSelector=SELECTOR)
    answer = place.merge("TrainJob", "a", {"spec": {"suspend": True, "runtimePatches": [patch]}})
    text = "RuntimePatches cannot be modified when the JobSet's ReplicatedJob {} is still active"
    admission.assert_refused(
        place,
        answer,
        admission.TRAIN_JOB,
        *(admission.forbidden(PATCHES, text.format(each)) for each in ("node", "other")),
    )
