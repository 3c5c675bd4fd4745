"""What holds of every plan, whatever was observed."""

import copy
from datetime import timedelta
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.lifecycle.test_early_end import event, job_of, pod_of
from tests.lifecycle.worlds import (
    COUNTS,
    NOW,
    RUNTIME,
    SUSPENDED,
    condition,
    job,
    jobset,
    patch,
    pod,
    pods_of,
    terminated,
    waits,
)
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle import admission
from trainer_infra.lifecycle.admission import Before, Verdict
from trainer_infra.lifecycle.plan import Plan, plan
from trainer_infra.render import snapshot
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects

TTL = "trainer-infra.dev/ttl-seconds-after-finished"
ENDS = ("AllJobsCompleted", "FailedJobs", "DeadlineExceeded")

conditions = st.lists(
    st.one_of(
        st.sampled_from(
            [SUSPENDED, {**SUSPENDED, "status": "False", "reason": "Resumed"}],
        ),
        st.builds(
            condition,
            st.sampled_from(["Complete", "Failed"]),
            st.sampled_from(["True", "False"]),
            st.sampled_from(ENDS),
        ),
    ),
    unique_by=lambda each: each["type"],
    max_size=3,
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "conditions": conditions,
        "jobsStatus": st.just([COUNTS]),
        "trainerStatus": st.just({"lastUpdatedTime": "2026-11-21T12:00:10Z"}),
    },
).filter(bool)
specs = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "activeDeadlineSeconds": st.integers(1, 60),
        "trainer": st.just({"numNodes": 2}),
        "initializer": st.just({"model": {"storageUri": "hf://a/b"}}),
        "managedBy": st.sampled_from(
            ["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"]
        ),
        "runtimeRef": st.sampled_from(
            [{"name": "jax-distributed"}, {"name": "mine"}, {"name": "mine", "kind": "Recipe"}]
        ),
        "runtimePatches": st.just(
            [
                patch("a.io/x", name="node", template=pods_of(nodeSelector={"a": "1"})),
                patch("b.io/x", name="node", template=pods_of(nodeSelector={"a": "2"})),
            ]
        ),
    },
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "uid": st.just("u"),
        "annotations": st.builds(
            lambda value: {TTL: value}, st.sampled_from(["0", "5", "99", "x"])
        ),
        "deletionTimestamp": st.just("2026-11-21T12:00:20Z"),
    },
)
jobs = st.builds(
    lambda status, about, spec: job(status, about, **spec), st.none() | statuses, metadata, specs
)
containers = st.lists(
    st.one_of(
        st.builds(terminated, st.integers(0, 255), st.integers(0, 59)),
        st.builds(waits, st.sampled_from(["ErrImagePull", "CrashLoopBackOff", "PodInitializing"])),
    ),
    max_size=2,
)
pods = st.lists(
    st.builds(
        lambda name, phase, inside, reason: pod(name, *inside, phase=phase, reason=reason),
        st.sampled_from("abc"),
        st.sampled_from(["Pending", "Running", "Failed", "Succeeded"]),
        containers,
        st.sampled_from(["", "Evicted"]),
    )
    | st.builds(
        pod_of,
        st.none() | st.integers(0, 3),
        deleted=st.none() | st.integers(0, 20),
        code=st.sampled_from([0, 143]),
        why=st.sampled_from(["", "EvictionByEvictionAPI", "Unknown"]),
    ),
    max_size=3,
).map(tuple)
jobs_of_set = st.lists(
    st.builds(job_of, st.sampled_from(["", "0", "0-2", "1,3-4"]), done=st.booleans()), max_size=2
).map(tuple)
pod_events = st.none() | st.lists(
    st.builds(
        event,
        st.sampled_from(["tj-node-0-0-abcde", "tj-node-0-3-abcde", "tj", ""]),
        st.sampled_from(["Started", "Killing"]),
        st.integers(0, 20),
    ),
    max_size=3,
).map(tuple)


def _live(held: bool, found: list[dict[str, Any]], counts: bool) -> dict[str, Any]:
    """A JobSet as its controller leaves it: one that is held says so."""
    if held:
        others = [each for each in found if each["type"] != "Suspended"]
        found = [*others, condition("Suspended", "True", "SuspendedJobs")]
    more = {"replicatedJobsStatus": [COUNTS]} if counts else {}
    return jobset(job(suspend=held), *found, **more)


live = st.none() | st.builds(
    _live,
    st.booleans(),
    st.lists(
        st.builds(
            condition,
            st.sampled_from(["Completed", "Failed", "Suspended", "StartupPolicyInProgress"]),
            st.sampled_from(["True", "False"]),
            st.sampled_from(ENDS[:2]),
        ),
        unique_by=lambda each: each["type"],
        max_size=3,
    ),
    st.booleans(),
)
worlds = st.builds(
    lambda found, inside, keeps, done, told: ObservedObjects(
        jobset=found,
        pods=inside,
        snapshot=snapshot.config_map(job(), RUNTIME) if keeps else None,
        jobs=done,
        pod_events=told,
    ),
    live,
    pods,
    st.booleans(),
    jobs_of_set,
    pod_events,
)
moments = st.integers(0, 120).map(lambda seconds: NOW + timedelta(seconds=seconds - 30))
some = st.frozensets(st.sampled_from(Deviation)).map(lambda few: Behaviour(deviations=few))
behaviours = st.sampled_from((OURS, REFERENCE)) | some


def finished(status: dict[str, Any]) -> bool:
    return any(
        each["type"] in {"Complete", "Failed"} and each["status"] == "True"
        for each in status.get("conditions", ())
    )


@settings(max_examples=200, deadline=None)
@given(jobs, worlds, moments, st.booleans(), behaviours)
def test_every_plan_is_sound(
    train_job: TrainJob, observed: ObservedObjects, now: Any, gone: bool, behaviour: Behaviour
) -> None:
    before = copy.deepcopy((train_job, observed))
    runtime = None if gone else RUNTIME

    def planned(of: TrainJob, world: ObservedObjects) -> Plan:
        return plan(of, runtime, world, now, behaviour=behaviour)

    result = planned(train_job, observed)
    assert (train_job, observed) == before
    assert planned(train_job, observed) == result
    old = train_job.status.to_wire() if train_job.status else {}
    status = dict(old if result.status is None else result.status)
    kinds = [each["type"] for each in status.get("conditions", ())]
    assert len(kinds) == len(set(kinds)) <= 8
    if status:
        TrainJob.from_wire({**train_job.to_wire(), "status": status})
    assert result.requeue_after is None or result.requeue_after >= 0
    assert all(len(each.message.encode()) <= 1024 for each in result.events)
    if behaviour is OURS:
        assert not (finished(old) and ((result.create + result.apply) or not finished(status)))
        # Counts of a JobSet that is gone are those of the new one only in the next pass.
        assume(observed.jobset is not None or "jobsStatus" not in old)
        after = _carried_out(train_job, observed, result, status)
        again = planned(*after)
        news = [each for each in again.events if each.reason != "TrainJobTTLExpired"]
        assert (again.status, news) == (None, [])


@settings(max_examples=100, deadline=None)
@given(jobs, jobs, worlds, st.booleans(), behaviours)
def test_every_verdict_is_sound(
    old: TrainJob, new: TrainJob, observed: ObservedObjects, gone: bool, behaviour: Behaviour
) -> None:
    inputs = copy.deepcopy((old, new, observed))
    runtime, before = None if gone else RUNTIME, Before(old, observed)

    def judged(of: TrainJob) -> Verdict:
        return admission.judge_train_job(of, runtime, before, behaviour=behaviour)

    verdict = judged(new)
    assert judged(new) == verdict
    assert (old, new, observed) == inputs
    assert all(each.where and each.what for each in verdict.problems)
    if behaviour is OURS:
        assert judged(old).problems == ()
    stamped = admission.with_defaults(new, old, NOW)
    assert admission.with_defaults(stamped, stamped, NOW + timedelta(days=1)) == stamped


def _carried_out(
    train_job: TrainJob, observed: ObservedObjects, result: Plan, status: dict[str, Any]
) -> tuple[TrainJob, ObservedObjects]:
    """The world after a driver did what the plan says, before anybody else acts."""
    found, kept = observed.jobset, observed.snapshot
    for each in (*result.create, *result.apply):
        if each["kind"] == "JobSet":
            found = {**each, "status": (found or {}).get("status", {})}
        else:
            kept = each
    if any(each.kind == "JobSet" for each in result.delete):
        found = None
    told = frozenset((each.reason, each.message) for each in result.events)
    stored = train_job.to_wire() | ({"status": status} if status else {})
    return TrainJob.from_wire(stored), ObservedObjects(
        jobset=found, snapshot=kept, pods=observed.pods, events_written=told
    )
