"""Reference behaviour 4.2: a TrainJob keeps the runtime that it was born with."""

from typing import Any

import pytest
import yaml

from tests.conformance import objects, snapshots
from tests.conformance.implementations import Apart
from tests.conformance.places import Place
from tests.conformance.rules import rule

JSON = dict[str, Any]

SNAPSHOT = "a-runtime-snapshot"
OTHER_IMAGE = objects.job(containers=[objects.container(image="example.com/other:2")])


def snapshot_of(place: Place) -> JSON:
    found = place.until(lambda: place.find("ConfigMap", SNAPSHOT))
    copied: JSON = yaml.safe_load(found["data"]["runtime"])
    return copied


def filled(value: Any) -> Any:
    """Without what is empty, which Go writes where YAML has nothing, and what Go has no field for."""
    if isinstance(value, list):
        return [filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {key: filled(each) for key, each in value.items()}
    return {key: each for key, each in inner.items() if each not in (None, {}, [])}


@rule("4.2-made")
def test_the_first_pass_copies_the_whole_runtime(place: Place) -> None:
    runtime = place.add(objects.runtime(labels={"example.com/label": "a"}))
    train_job = place.add(objects.train_job())
    copied = snapshot_of(place)
    for field in ("apiVersion", "kind", "spec"):
        assert filled(copied[field]) == filled(runtime[field])
    for field in ("name", "namespace", "uid", "labels", "resourceVersion"):
        assert copied["metadata"][field] == runtime["metadata"][field]
    (owner,) = place.find("ConfigMap", SNAPSHOT)["metadata"]["ownerReferences"]
    assert owner == objects.controlled_by(train_job)


@rule("4.2-cluster-runtime")
def test_a_cluster_training_runtime_is_copied_too(place: Place) -> None:
    kind = "ClusterTrainingRuntime"
    runtime = place.add(objects.runtime(place.name, kind=kind))
    place.add(objects.train_job(runtime=place.name, kind=kind))
    copied = snapshot_of(place)
    assert (copied["kind"], copied["metadata"]["name"]) == (kind, place.name)
    assert filled(copied["spec"]) == filled(runtime["spec"])


@rule("4.2-defaults")
def test_the_copy_has_the_defaults_of_the_server(place: Place) -> None:
    jobs = [objects.job("launcher"), objects.job("node", None)]
    place.add(objects.runtime("runtime", *jobs, policy={"mpi": {}}), objects.train_job())
    assert snapshot_of(place)["spec"]["mlPolicy"]["mpi"] == {
        "mpiImplementation": "OpenMPI",
        "numProcPerNode": 1,
        "runLauncherAsNode": False,
        "sshAuthMountPath": "/root/.ssh",
    }


@rule("4.2-used")
def test_a_later_change_of_the_runtime_does_not_reach_the_train_job(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True))
    place.settled_job_set()
    place.change("TrainingRuntime", "runtime", {"spec": {"template": {"spec": _jobs(OTHER_IMAGE)}}})
    place.suspend(False)
    place.until(lambda: not place.job_set()["spec"]["suspend"])
    assert objects.only(place.job_set())["image"] == "example.com/runtime:1"


@rule("4.2-runtime-gone")
def test_a_train_job_goes_on_without_its_runtime(unjudged: Place) -> None:
    unjudged.add(objects.runtime(), objects.train_job(suspend=True))
    unjudged.settled_job_set()
    unjudged.delete("TrainingRuntime", "runtime")
    unjudged.suspend(False)
    unjudged.until(lambda: not unjudged.job_set()["spec"]["suspend"])


@rule("4.2-runtime-gone", "4.6-retry")
def test_a_copy_is_enough_where_the_runtime_is_gone(unjudged: Place) -> None:
    train_job = unjudged.add(objects.train_job())
    unjudged.until_failure("not found")
    group = {"apiVersion": train_job["apiVersion"]}
    copied = {"runtime": yaml.safe_dump({**group, **objects.runtime()})}
    unjudged.add(snapshots.snapshot(train_job, copied))
    unjudged.touch("again")
    assert objects.only(unjudged.job_set())["image"] == "example.com/runtime:1"


@rule("4.2-made-again", differs=(Apart.CHILDREN,))
def test_a_copy_that_is_missing_is_made_of_the_live_runtime(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job(suspend=True))
    place.settled_job_set()
    place.change("TrainingRuntime", "runtime", {"spec": {"template": {"spec": _jobs(OTHER_IMAGE)}}})
    place.settle()
    place.delete("ConfigMap", SNAPSHOT)
    if place.deviates(Apart.CHILDREN):
        place.touch("again")
        place.settle()
        assert objects.only(place.job_set())["image"] == "example.com/runtime:1"
    else:
        place.until(lambda: place.find("ConfigMap", SNAPSHOT))
        place.until(lambda: objects.only(place.job_set())["image"] == "example.com/other:2")


@rule("4.2-foreign", "4.2-not-live", "4.6-first-error", "4.6-no-condition-of-error")
def test_a_config_map_of_another_owner_is_refused(place: Place) -> None:
    foreign = {"kind": "ConfigMap", "metadata": {"name": SNAPSHOT}, "data": {"runtime": "{}"}}
    place.add(foreign, objects.runtime(), objects.train_job())
    place.until_failure(
        "invalid runtime snapshot: a snapshot configmap exists but is owned by another object"
    )
    place.settle()
    assert place.find("JobSet", "a") == {}
    assert place.status().get("conditions", []) == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(
            {"other": ""},
            'invalid runtime snapshot: snapshot ConfigMap missing "runtime" data key',
            marks=rule("4.2-no-key"),
        ),
        pytest.param(
            {"runtime": "a: b: c"},
            "invalid runtime snapshot: unable to unmarshal the snapshot: ",
            marks=rule("4.2-no-yaml"),
        ),
        pytest.param(
            {"runtime": yaml.safe_dump(objects.runtime("other") | {"apiVersion": "trainer.kubeflow.org/v1alpha1"})},
            "invalid runtime snapshot: the snapshot refers to the wrong runtime: expecting a runtime with "
            'name, api group and kind of "runtime", "trainer.kubeflow.org", "TrainingRuntime" but found '
            'runtime with name, api group and kind of "other", "trainer.kubeflow.org", "TrainingRuntime"',
            marks=rule("4.2-other-runtime"),
        ),
    ],
    ids=["no key", "no YAML", "another runtime"],
)  # fmt: skip
def test_a_copy_that_is_none_is_refused(unjudged: Place, data: JSON, problem: str) -> None:
    train_job = unjudged.add(objects.train_job())
    unjudged.until_failure("not found")
    unjudged.add(snapshots.snapshot(train_job, data), objects.runtime())
    unjudged.touch("again")
    unjudged.until_failure(problem)
    unjudged.settle()
    assert unjudged.find("JobSet", "a") == {}
    assert unjudged.find("ConfigMap", SNAPSHOT)["data"] == data


@rule("4.2-no-runtime")
def test_without_copy_and_runtime_the_pass_fails(unjudged: Place) -> None:
    unjudged.add(objects.train_job())
    event = unjudged.until_failure("TrainingRuntime specified in TrainJob is not found: ")
    assert '"runtime" not found' in event["note"]
    unjudged.settle()
    assert unjudged.find("ConfigMap", SNAPSHOT) == {}


@rule("4.2-no-cluster-runtime")
def test_without_copy_and_cluster_runtime_the_pass_fails(unjudged: Place) -> None:
    unjudged.add(objects.train_job(runtime="no-such", kind="ClusterTrainingRuntime"))
    event = unjudged.until_failure("not found ClusterTrainingRuntime specified in TrainJob: ")
    assert '"no-such" not found' in event["note"]


def _jobs(*jobs: JSON) -> JSON:
    return {"replicatedJobs": list(jobs)}
