"""Reference behaviour 5.3: what the mutating webhook writes into a TrainJob."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conformance import objects
from tests.conformance.places import Place
from tests.conformance.rules import rule

JSON = dict[str, Any]

FIRST, SECOND = "example.com/first", "example.com/second"
GIVEN, OTHER = "2020-01-02T03:04:05Z", "2021-01-02T03:04:05Z"


def patch(manager: str, value: str, **fields: str) -> JSON:
    return {**objects.patch(manager, nodeSelector={"a": value}), **fields}


def times(train_job: JSON) -> dict[str, str]:
    return {each["manager"]: each["time"] for each in train_job["spec"]["runtimePatches"]}


def is_now(text: str) -> bool:
    """Whether a time is of this test; a clock counts whole seconds here."""
    age = datetime.now(UTC) - datetime.fromisoformat(text)
    return timedelta(seconds=-1) <= age < timedelta(hours=1)


@rule("5.3-create", "5.3-create-given")
def test_each_patch_of_a_new_train_job_gets_the_time(place: Place) -> None:
    patches = [patch(FIRST, "1"), patch(SECOND, "1", time=GIVEN)]
    stored = place.add(objects.runtime(), objects.train_job(runtimePatches=patches))
    found = times(stored)
    assert is_now(found[FIRST])
    assert found[SECOND] == GIVEN


@rule("5.3-update-same")
def test_an_entry_that_stays_the_same_keeps_its_time(place: Place) -> None:
    patches = [patch(each, "1", time=GIVEN) for each in (FIRST, SECOND)]
    place.add(objects.runtime(), objects.train_job(runtimePatches=patches))
    again = [patch(FIRST, "1", time=OTHER), patch(SECOND, "1")]
    stored = place.change("TrainJob", "a", {"spec": {"runtimePatches": again}})
    assert times(stored) == {FIRST: GIVEN, SECOND: GIVEN}


@rule("5.3-update-changed", "5.3-update-new")
def test_an_entry_that_changes_or_is_new_gets_the_time(place: Place) -> None:
    patches = [patch(FIRST, "1", time=GIVEN)]
    place.add(objects.runtime(), objects.train_job(suspend=True, runtimePatches=patches))
    third = "example.com/third"
    changed = [patch(FIRST, "2", time=OTHER), patch(SECOND, "1"), patch(third, "1", time=GIVEN)]
    found = times(place.change("TrainJob", "a", {"spec": {"runtimePatches": changed}}))
    assert is_now(found[FIRST])
    assert is_now(found[SECOND])
    assert found[third] == GIVEN


@rule("5.3-schema")
def test_all_other_defaults_are_the_schemas(place: Place) -> None:
    kind = "ClusterTrainingRuntime"
    place.add(objects.runtime(place.name, kind=kind))
    asked = {"runtimeRef": {"name": place.name}, "trainer": {"numNodes": 1}}
    stored = place.add({"kind": "TrainJob", "metadata": {"name": "a"}, "spec": asked})
    group = "trainer.kubeflow.org"
    assert stored["spec"] == {
        "runtimeRef": {"apiGroup": group, "kind": kind, "name": place.name},
        "trainer": {"numNodes": 1},
        "suspend": False,
        "managedBy": f"{group}/trainjob-controller",
    }
