"""Which pods are scheduled all at once: reference behaviour 3.8 and 3.9, and Q15."""

from typing import Any

import pytest

from tests.render.runtimes import asking, replicated, runtime, train_job
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.errors import InvalidInput
from trainer_infra.render import gang, pipeline, resolve
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Watch
from trainer_infra.render.plugins import coscheduling, volcano

COSCHEDULING: dict[str, Any] = {"coscheduling": {}}
INIT = "dataset-initializer"


def names_of(found: Any) -> list[str]:
    return [each.name for each in found]


def draft(on: ClusterTrainingRuntime, *, behaviour: Behaviour = OURS) -> Any:
    return resolve.first_draft(train_job(), on, behaviour.deviations)


def groups(on: ClusterTrainingRuntime, *, behaviour: Behaviour = OURS) -> list[Any]:
    objects = pipeline.render(train_job(), on, behaviour=behaviour)
    return [each["spec"] for each in objects if each["kind"] == "PodGroup"]


def labelled(on: ClusterTrainingRuntime, *, behaviour: Behaviour = OURS) -> list[str]:
    jobset = pipeline.render(train_job(), on, behaviour=behaviour)[-1]
    return [
        job["name"]
        for job in jobset["spec"]["replicatedJobs"]
        if "scheduling.x-k8s.io/pod-group"
        in job["template"]["spec"]["template"].get("metadata", {}).get("labels", {})
    ]


TUNE = runtime(
    replicated(INIT, INIT),
    replicated("node", "trainer", dependsOn={INIT: "Complete"}, containers=asking(cpu=1)),
    podGroupPolicy=COSCHEDULING,
)
MPI = runtime(
    replicated("node", parallelism=3, containers=asking(cpu=2)),
    replicated("launcher", "trainer", dependsOn={"node": "Ready"}, containers=asking(cpu=1)),
    podGroupPolicy=COSCHEDULING,
)


def test_q15_a_job_that_must_complete_first_is_outside_the_gang() -> None:
    spec = {"minMember": 1, "minResources": {"cpu": "1"}, "scheduleTimeoutSeconds": 60}
    assert groups(TUNE) == [spec]
    assert labelled(TUNE) == ["node"]
    assert groups(TUNE, behaviour=REFERENCE) == [{**spec, "minMember": 2}]
    assert labelled(TUNE, behaviour=REFERENCE) == [INIT, "node"]


def test_q15_a_job_that_waits_for_ready_workers_joins_without_counting() -> None:
    spec = {"minMember": 3, "minResources": {"cpu": "7"}, "scheduleTimeoutSeconds": 60}
    assert groups(MPI) == [spec]
    assert labelled(MPI) == ["node", "launcher"]
    assert groups(MPI, behaviour=REFERENCE) == [{**spec, "minMember": 4}]
    assert labelled(MPI, behaviour=REFERENCE) == ["node", "launcher"]


def test_what_comes_before_a_job_outside_the_gang_is_outside_too() -> None:
    on = runtime(
        replicated("cache"),
        replicated(INIT, INIT, dependsOn={"cache": "Ready"}),
        replicated("node", "trainer", dependsOn={INIT: "Complete"}),
        replicated("launcher", dependsOn={"node": "Ready"}),
        replicated("watcher", dependsOn={"launcher": "Ready"}),
    )
    assert names_of(gang.members(draft(on))) == ["node", "launcher", "watcher"]
    assert names_of(gang.counted_members(draft(on))) == ["node"]


def test_jobs_that_wait_for_nothing_count_beside_each_other() -> None:
    on = runtime(replicated("ps"), replicated("node", "trainer"))
    assert names_of(gang.counted_members(draft(on))) == ["ps", "node"]


def test_jobs_that_start_in_order_wait_for_the_one_before_to_be_ready() -> None:
    on = runtime(
        replicated("ps"),
        replicated("node", "trainer"),
        jobset={"startupPolicy": {"startupPolicyOrder": "InOrder"}},
    )
    assert names_of(gang.members(draft(on))) == ["ps", "node"]
    assert names_of(gang.counted_members(draft(on))) == ["ps"]
    assert names_of(gang.counted_members(draft(on, behaviour=REFERENCE))) == ["ps", "node"]


def test_pods_without_requests_ask_for_no_resources() -> None:
    on = runtime(replicated("node", "trainer"), podGroupPolicy=COSCHEDULING)
    assert groups(on) == [{"minMember": 1, "minResources": {}, "scheduleTimeoutSeconds": 60}]


def test_q10_both_policies_at_once_are_refused() -> None:
    both: dict[str, Any] = {"coscheduling": {}, "volcano": {}}
    on = runtime(replicated("node", "trainer"), podGroupPolicy=both)
    with pytest.raises(InvalidInput) as caught:
        pipeline.render(train_job(), on)
    assert [str(each) for each in caught.value.problems] == [
        (
            "ClusterTrainingRuntime r: spec.podGroupPolicy: must have only one of coscheduling and "
            "volcano, got {'coscheduling': {}, 'volcano': {}}; remove one of them: a pod has one "
            "scheduler"
        )
    ]
    assert len(groups(on, behaviour=REFERENCE)) == 2


@pytest.mark.parametrize(
    ("suspend", "there", "written"),
    [
        (False, None, True),
        (False, "scheduling.x-k8s.io/v1alpha1", False),
        (True, "scheduling.x-k8s.io/v1alpha1", True),
        (False, "scheduling.volcano.sh/v1beta1", True),
    ],
)
def test_a_pod_group_is_left_alone_while_the_job_runs(
    there: str | None, *, suspend: bool, written: bool
) -> None:
    group = {"apiVersion": there, "kind": "PodGroup", "metadata": {"name": "tj"}}
    jobset = {"spec": {"suspend": suspend}}
    observed = ObservedObjects(jobset=jobset, objects=(group,) if there else ())
    due = pipeline.due_objects(train_job(suspend=suspend), TUNE, observed)
    assert ("PodGroup" in {each["kind"] for each in due}) == written


@pytest.mark.parametrize(
    ("plugin", "api_version"),
    [
        (coscheduling.PLUGIN, "scheduling.x-k8s.io/v1alpha1"),
        (volcano.PLUGIN, "scheduling.volcano.sh/v1beta1"),
    ],
    ids=["coscheduling", "volcano"],
)
def test_a_scheduler_watches_its_groups_limit_ranges_and_runtime_classes(
    plugin: Any, api_version: str
) -> None:
    assert [(each.api_version, each.kind) for each in plugin.watches] == [
        (api_version, "PodGroup"),
        ("v1", "LimitRange"),
        ("node.k8s.io/v1", "RuntimeClass"),
    ]
    assert plugin.watches[0].wakes is None


def wakes(watch: Watch, metadata: dict[str, str], *, suspend: bool) -> bool:
    on = runtime(replicated("node", "trainer", runtimeClassName="gvisor"))
    assert watch.wakes
    return watch.wakes({"metadata": metadata}, train_job(suspend=suspend), on)


def test_a_limit_range_wakes_the_suspended_jobs_of_its_namespace() -> None:
    _, limit_range, _ = coscheduling.PLUGIN.watches
    assert wakes(limit_range, {"name": "l", "namespace": "n"}, suspend=True)
    assert not wakes(limit_range, {"name": "l", "namespace": "n"}, suspend=False)
    assert not wakes(limit_range, {"name": "l", "namespace": "other"}, suspend=True)


def test_a_runtime_class_wakes_the_suspended_jobs_whose_pods_use_it() -> None:
    *_, runtime_class = volcano.PLUGIN.watches
    assert wakes(runtime_class, {"name": "gvisor"}, suspend=True)
    assert not wakes(runtime_class, {"name": "gvisor"}, suspend=False)
    assert not wakes(runtime_class, {"name": "kata"}, suspend=True)


def test_q21_a_gang_without_nodes_is_one_that_an_api_server_accepts() -> None:
    job = train_job(trainer={"numNodes": 0})
    on = runtime(replicated("node", "trainer"), mlPolicy={}, podGroupPolicy=COSCHEDULING)
    found = [
        each["spec"]["minMember"]
        for behaviour in (OURS, REFERENCE)
        for each in pipeline.render(job, on, behaviour=behaviour)
        if each["kind"] == "PodGroup"
    ]
    assert found == [1, 0]
