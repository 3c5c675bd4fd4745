"""From the first apply to the deletion: runtimes, events, plugins' status, TTL. Spec 4.2, 4.6."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.lifecycle.worlds import (
    NOW,
    RUNTIME,
    SUSPENDED,
    condition,
    job,
    jobset,
    patch,
    pod,
    pods_of,
    seen,
    waits,
)
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle.events import LONGEST, Event
from trainer_infra.lifecycle.plan import RETRY, ObjectRef, Plan, plan
from trainer_infra.render import snapshot
from trainer_infra.render.behaviour import REFERENCE, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS

TTL = "trainer-infra.dev/ttl-seconds-after-finished"
COMPLETE = {"conditions": [condition("Complete", "True", "AllJobsCompleted")]}
JOB_ITSELF = ObjectRef("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj")


def on(kind: str, api_group: str = "trainer.kubeflow.org", name: str = "mine") -> dict[str, Any]:
    return {"name": name, "kind": kind, "apiGroup": api_group}


def test_q13_a_kind_of_runtime_that_does_not_exist_is_the_jobs_end() -> None:
    unknown = job(runtimeRef=on("Recipe", "acme.io"))
    result = plan(unknown, None, ObservedObjects(jobset=None), NOW)
    failed = {
        "type": "Failed",
        "status": "True",
        "reason": "TrainingRuntimeNotSupported",
        "message": "unsupported runtime: Recipe.acme.io",
        "lastTransitionTime": "2026-11-21T12:00:30Z",
    }
    told = "TrainingRuntimeNotSupported: unsupported runtime: Recipe.acme.io"
    assert result == Plan(
        status={"conditions": [failed]}, events=(Event("Warning", "TrainJobFailed", told),)
    )
    assert plan(unknown, None, ObservedObjects(jobset=None), NOW, behaviour=REFERENCE) == Plan()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (
            "ClusterTrainingRuntime",
            (
                "not found ClusterTrainingRuntime specified in TrainJob: "
                'clustertrainingruntimes.trainer.kubeflow.org "mine" not found'
            ),
        ),
        (
            "TrainingRuntime",
            (
                "TrainingRuntime specified in TrainJob is not found: "
                'trainingruntimes.trainer.kubeflow.org "mine" not found'
            ),
        ),
    ],
)
def test_a_job_without_its_runtime_says_so_once_and_is_tried_again(kind: str, why: str) -> None:
    early = job(runtimeRef=on(kind))
    event = Event(
        "Warning",
        "TrainJobResourcesCreationFailed",
        f"TrainJob resources reconciliation failed: {why}",
    )
    assert plan(early, None, ObservedObjects(jobset=None), NOW) == Plan(
        events=(event,), waiting=why, requeue_after=RETRY
    )
    told = frozenset({(event.reason, event.message)})
    assert plan(early, None, ObservedObjects(jobset=None, events_written=told), NOW) == Plan(
        waiting=why, requeue_after=RETRY
    )


def test_a_job_without_its_runtime_is_suspended_and_overdue_all_the_same() -> None:
    early = job(runtimeRef=on("TrainingRuntime"), suspend=True)
    assert plan(early, None, ObservedObjects(jobset=None), NOW).status == {
        "conditions": [SUSPENDED]
    }
    limited = job(runtimeRef=on("TrainingRuntime"), activeDeadlineSeconds=10)
    status = plan(limited, None, ObservedObjects(jobset=None), NOW).status or {}
    assert [each["reason"] for each in status["conditions"]] == ["DeadlineExceeded"]


def test_with_a_snapshot_a_job_needs_its_runtime_no_more() -> None:
    going = job()
    assert plan(going, None, seen(going, jobset(going)), NOW) == Plan()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"metadata": {"ownerReferences": [{"uid": "other", "controller": True}]}},
            "a snapshot configmap exists but is owned by another object",
        ),
        ({"data": {}}, 'snapshot ConfigMap missing "runtime" data key'),
        ({"data": {"runtime": "kind: ["}}, "unable to unmarshal the snapshot: "),
    ],
)
def test_a_snapshot_that_is_not_the_jobs_own_is_named_and_the_live_runtime_not_used(
    change: dict[str, Any], why: str
) -> None:
    stored = job(metadata={"uid": "u"})
    owner = {"metadata": {"ownerReferences": [{"uid": "u", "controller": True}]}}
    found = {**snapshot.config_map(stored, RUNTIME), **owner, **change}
    result = plan(stored, RUNTIME, ObservedObjects(jobset=None, snapshot=found), NOW)
    assert (result.apply, result.status) == ((), None)
    assert f"invalid runtime snapshot: {why}" in result.events[0].message


def test_a_snapshot_of_another_runtime_is_named() -> None:
    other = job(runtimeRef={"name": "torch-distributed"})
    result = plan(other, RUNTIME, seen(other, None), NOW)
    assert (
        "invalid runtime snapshot: the snapshot refers to the wrong runtime: expecting a runtime "
        'with name, api group and kind of "torch-distributed", "trainer.kubeflow.org", '
        '"ClusterTrainingRuntime" but found runtime with name, api group and kind of '
        '"jax-distributed", "trainer.kubeflow.org", "ClusterTrainingRuntime"'
    ) in result.events[0].message


def test_a_snapshot_as_the_reference_writes_it_is_read() -> None:
    text = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  creationTimestamp: "2026-11-21T11:00:00Z"
  generation: 1
  managedFields:
  - {apiVersion: trainer.kubeflow.org/v1alpha1, fieldsType: FieldsV1, manager: kubectl}
  name: jax-distributed
  resourceVersion: "7"
  uid: r
spec:
  mlPolicy:
    jax: {}
    numNodes: 1
  template:
    metadata:
      creationTimestamp: null
    spec:
      replicatedJobs:
      - groupName: default
        name: node
        replicas: 1
        template:
          metadata:
            creationTimestamp: null
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              metadata:
                creationTimestamp: null
              spec:
                containers:
                - image: i
                  name: node
                  resources: {}
"""
    found = {"metadata": {"name": "tj-runtime-snapshot"}, "data": {"runtime": text}}
    (applied,) = plan(job(), None, ObservedObjects(jobset=None, snapshot=found), NOW).apply
    assert applied["kind"] == "JobSet"


def test_snapshot_of_a_runtime_that_cannot_be_used_is_made_in_the_reference_only() -> None:
    broken = job(initializer={"model": {"storageUri": "hf://a/b"}})
    assert plan(broken, RUNTIME, ObservedObjects(jobset=None), NOW).apply == ()
    exact = plan(broken, RUNTIME, ObservedObjects(jobset=None), NOW, behaviour=REFERENCE)
    assert exact.create == (snapshot.config_map(broken, RUNTIME),)


def test_deletion_of_a_job_leaves_it_alone() -> None:
    going = job(metadata={"deletionTimestamp": "2026-11-21T12:00:20Z"})
    assert plan(going, RUNTIME, ObservedObjects(jobset=None), NOW) == Plan()
    assert plan(going, RUNTIME, ObservedObjects(jobset=None), NOW, behaviour=REFERENCE).apply


def test_patches_on_one_field_are_told_with_the_first_apply_only() -> None:
    patches = [
        patch("a.io/x", name="node", template=pods_of(nodeSelector={"pool": "a"})),
        patch("b.io/x", name="node", template=pods_of(nodeSelector={"pool": "b"})),
    ]
    patched = job(runtimePatches=patches, suspend=True)
    first = plan(patched, RUNTIME, seen(patched, None), NOW)
    assert [each.reason for each in first.events] == [
        "TrainJobResourcesCreated",
        "RuntimePatchOverridden",
        "TrainJobSuspended",
    ]
    assert first.events[1].message == (
        "spec.runtimePatches[1] (manager b.io/x) sets "
        "template.spec.replicatedJobs[node].template.spec.template.spec.nodeSelector.pool to 'b', "
        "which spec.runtimePatches[0] (manager a.io/x) sets to 'a'; the later one wins"
    )
    later = job(runtimePatches=patches, suspend=True, status={"conditions": [SUSPENDED]})
    assert plan(later, RUNTIME, seen(later, jobset(patched)), NOW).events == ()


def test_events_of_pods_that_wait_are_where_to_fix_and_make_no_condition() -> None:
    running = job()
    pods = (pod("tj-node-0-0", waits("ErrImagePull", "not found"), phase="Pending"),)
    event = Event(
        "Warning",
        "ImagePullFailed",
        "pod tj-node-0-0: the image of container node cannot be pulled: not found",
    )
    live = jobset(running)
    waits_for = Plan(waiting=event.message)
    found = plan(running, RUNTIME, seen(running, live, pods=pods), NOW)
    assert found == replace(waits_for, events=(event,))
    told = frozenset({(event.reason, event.message)})
    again = seen(running, live, pods=pods, events_written=told)
    assert plan(running, RUNTIME, again, NOW) == waits_for
    exact = plan(running, RUNTIME, seen(running, live, pods=pods), NOW, behaviour=REFERENCE)
    assert exact == Plan()


def test_pods_of_a_suspended_job_may_wait() -> None:
    held = job(suspend=True, status={"conditions": [SUSPENDED]})
    pods = (pod("tj-node-0-0", waits("ErrImagePull"), phase="Pending"),)
    assert plan(held, RUNTIME, seen(held, jobset(held), pods=pods), NOW).events == ()


def test_an_event_is_never_longer_than_kubernetes_takes() -> None:
    running = job()
    live = jobset(running, condition("Failed", "True", "FailedJobs", "ü" * 5000))
    (event,) = plan(running, RUNTIME, seen(running, live), NOW).events
    assert len(event.message.encode()) <= LONGEST
    assert event.message.endswith(" ...")


def test_plugins_add_to_the_status_in_their_order() -> None:
    def seconds(name: str) -> Plugin:
        def status(
            _job: TrainJob, so_far: Mapping[str, Any], _observed: ObservedObjects
        ) -> Mapping[str, Any]:
            told = so_far.get("trainerStatus", {}).get("metrics", [])
            metrics = [*told, {"name": name, "value": "1"}]
            return {**so_far, "trainerStatus": {"metrics": metrics, "lastUpdatedTime": "t"}}

        return Plugin(name=name, applies=lambda _: True, status=status)

    running = job()
    *ours, last = PLUGINS
    plugins = (*ours, seconds("a"), seconds("b"), last)
    result = plan(
        running, RUNTIME, seen(running, jobset(running)), NOW, behaviour=Behaviour(plugins)
    )
    assert result.status == {
        "trainerStatus": {
            "metrics": [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}],
            "lastUpdatedTime": "t",
        }
    }


def test_what_the_training_reported_stays() -> None:
    reported = {"progressPercentage": 5, "lastUpdatedTime": "2026-11-21T12:00:10Z"}
    running = job(status={"trainerStatus": reported})
    live = jobset(running, condition("Completed", "True", "AllJobsCompleted"))
    status = plan(running, RUNTIME, seen(running, live), NOW).status
    assert status == {**COMPLETE, "trainerStatus": reported}


def test_counts_of_an_earlier_jobset_go_as_soon_as_the_status_has_something_else() -> None:
    counts = [
        {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
    ]
    lone = job(status={"jobsStatus": counts})
    assert plan(lone, RUNTIME, seen(lone, jobset(lone)), NOW).status is None
    held = job(status={"jobsStatus": counts, "conditions": [SUSPENDED]}, suspend=True)
    result = plan(held, RUNTIME, seen(held, jobset(held)), NOW)
    assert result.status == {"conditions": [SUSPENDED]}


@pytest.mark.parametrize("on_runtime", [False, True])
def test_ttl_lets_a_finished_job_go_when_it_has_passed(on_runtime: bool) -> None:
    annotations = {"annotations": {TTL: "100"}}
    runtime = RUNTIME
    if on_runtime:
        wire = RUNTIME.to_wire()
        wire["metadata"].update(annotations)
        runtime = type(RUNTIME).from_wire(wire)
    done = job(status=COMPLETE, metadata={} if on_runtime else annotations)
    there = ObservedObjects(jobset=None, snapshot=snapshot.config_map(done, runtime))
    assert plan(done, None, there, NOW) == Plan(requeue_after=90.0)
    late = NOW + timedelta(seconds=90)
    told = Event(
        "Normal", "TrainJobTTLExpired", "TrainJob is deleted: its TTL has passed since its end"
    )
    assert plan(done, None, there, late) == Plan(
        delete=(JOB_ITSELF,), events=(told,), requeue_after=0.0
    )
    assert plan(done, None, there, late, behaviour=REFERENCE) == Plan()


def test_the_end_is_stored_before_a_job_with_a_ttl_of_zero_goes() -> None:
    running = job(metadata={"annotations": {TTL: "0"}})
    live = jobset(running, condition("Completed", "True", "AllJobsCompleted"))
    first = plan(running, RUNTIME, seen(running, live), NOW)
    assert (first.delete, first.status, first.requeue_after) == ((), COMPLETE, 0.0)
    done = job(metadata={"annotations": {TTL: "0"}}, status=COMPLETE)
    assert plan(done, RUNTIME, seen(done, live), NOW).delete == (JOB_ITSELF,)


def test_a_running_job_has_no_ttl() -> None:
    running = job(metadata={"annotations": {TTL: "0"}})
    assert plan(running, RUNTIME, seen(running, jobset(running)), NOW) == Plan()


@pytest.mark.parametrize("value", ["", "-1", "1.5", "1m", "2147483648", "٣"])
def test_ttl_that_is_no_number_of_seconds_is_refused(value: str) -> None:
    wrong = job(metadata={"annotations": {TTL: value}})
    (event,) = plan(wrong, RUNTIME, seen(wrong, None), NOW).events
    assert (
        f"TrainJob tj: metadata.annotations[{TTL}]: must be a whole number of seconds from 0 to "
        f"2147483647, got {value!r}"
    ) in event.message
    done = job(metadata={"annotations": {TTL: value}}, status=COMPLETE)
    assert plan(done, RUNTIME, seen(done, None), NOW) == Plan()
