"""KAI, YuniKorn and Kueue by annotations: docs/gang-scheduling.md."""

import json
from typing import Any

import pytest

from tests.render.runtimes import replicated, runtime, train_job
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour

PREFIX = "trainer-infra.dev"
LABEL = "kueue.x-k8s.io/queue-name"
PLAIN = runtime(replicated("node", "trainer", parallelism=2))


def settings(**given: str) -> dict[str, dict[str, str]]:
    annotations = {f"{PREFIX}/{key.replace('_', '-')}": given[key] for key in given}
    return {"annotations": annotations}


def refusal(metadata: dict[str, Any], on: Any = PLAIN) -> list[str]:
    return [str(each) for each in pipeline.rendering_problems(train_job(metadata=metadata), on)]


def jobset(metadata: dict[str, Any], on: Any = PLAIN, *, behaviour: Behaviour = OURS) -> Any:
    job = train_job(metadata=metadata)
    return pipeline.render(job, on, behaviour=behaviour)[-1]


def pods(found: Any) -> dict[str, Any]:
    return {
        each["name"]: each["template"]["spec"]["template"]
        for each in found["spec"]["replicatedJobs"]
    }


def test_an_unknown_scheduler_is_refused_with_the_choices() -> None:
    assert refusal(settings(scheduler="slurm", queue="q")) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/scheduler]: names no scheduler that is "
            "known here, got 'slurm'; write one of kai, yunikorn, kueue"
        )
    ]


def test_a_queue_without_a_scheduler_is_refused() -> None:
    assert refusal(settings(queue="q")) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/queue]: has no effect without "
            f"{PREFIX}/scheduler, got 'q'; name the scheduler: {PREFIX}/scheduler: "
            "kai | yunikorn | kueue"
        )
    ]


def test_settings_of_another_scheduler_are_refused() -> None:
    assert refusal(settings(scheduler="yunikorn", required_topology="rack")) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/required-topology]: is not a setting of "
            "yunikorn, got 'rack'; remove it"
        )
    ]


@pytest.mark.parametrize("queue", ["", "a b", "-a", "a" * 64])
def test_a_queue_must_be_a_labels_value(queue: str) -> None:
    assert refusal(settings(scheduler="kai", queue=queue)) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/queue]: must be up to 63 letters, digits, "
            f"-, _ and ., because it becomes a label, got {queue!r}; write the queue's name"
        )
    ]


def test_an_empty_topology_is_refused() -> None:
    assert refusal(settings(scheduler="kueue", queue="q", required_topology="")) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/required-topology]: must not be empty, "
            "got ''; write a name or remove it"
        )
    ]


@pytest.mark.parametrize("policy", ["coscheduling", "volcano"])
@pytest.mark.parametrize("scheduler", ["kai", "yunikorn"])
def test_a_second_gang_scheduler_is_refused(policy: str, scheduler: str) -> None:
    on = runtime(replicated("node", "trainer"), podGroupPolicy={policy: {}})
    assert refusal(settings(scheduler=scheduler), on) == [
        (
            "ClusterTrainingRuntime r: spec.podGroupPolicy: cannot be combined with "
            f"{PREFIX}/scheduler: {scheduler}, which makes the gang itself; remove one of them: "
            "a pod has one scheduler"
        )
    ]


def test_kueue_admits_what_a_gang_scheduler_places() -> None:
    on = runtime(replicated("node", "trainer"), podGroupPolicy={"coscheduling": {}})
    assert refusal(settings(scheduler="kueue", queue="q"), on) == []


def test_kai_needs_a_topology_for_a_level_and_a_level_for_a_topology() -> None:
    assert refusal(settings(scheduler="kai", preferred_topology="rack")) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/preferred-topology]: needs "
            f"{PREFIX}/topology, the name of a KAI Topology, got 'rack'; add it"
        )
    ]
    assert refusal(settings(scheduler="kai", topology="cluster")) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/topology]: needs a level of the topology, "
            f"got 'cluster'; add {PREFIX}/required-topology or {PREFIX}/preferred-topology"
        )
    ]


def test_kueue_needs_a_queue_and_one_level() -> None:
    both = settings(scheduler="kueue", required_topology="rack", preferred_topology="block")
    assert refusal(both) == [
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/scheduler]: needs a queue, got 'kueue'; "
            f"add {PREFIX}/queue with the name of a LocalQueue"
        ),
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/preferred-topology]: cannot be combined "
            f"with {PREFIX}/required-topology in Kueue, got 'block'; remove one of them"
        ),
    ]


def test_where_the_train_job_is_stored_kueue_reads_its_label_and_the_jobset_has_none() -> None:
    labelled = {"uid": "u", "labels": {LABEL: "q"}, **settings(scheduler="kueue", queue="q")}
    assert refusal(labelled) == []
    assert "labels" not in jobset(labelled)["metadata"]
    without = {"uid": "u", **settings(scheduler="kueue", queue="q", required_topology="rack")}
    assert refusal(without) == [
        (
            f"TrainJob tj: metadata.labels[{LABEL}]: must name the queue: Kueue reads it where the "
            "TrainJob is stored in a cluster; add the label with the value q"
        ),
        (
            f"TrainJob tj: metadata.annotations[{PREFIX}/required-topology]: is not seen by Kueue "
            "where the TrainJob is stored in a cluster, got 'rack'; put "
            "kueue.x-k8s.io/podset-required-topology on the pods, in the runtime or in "
            "spec.runtimePatches"
        ),
    ]


def test_a_runtime_may_hold_the_settings_and_the_train_job_wins() -> None:
    on = runtime(replicated("node", "trainer"), metadata=settings(scheduler="kai", queue="a"))
    assert jobset({}, on)["metadata"]["labels"] == {"kai.scheduler/queue": "a"}
    own = jobset(settings(queue="b"), on)
    assert own["metadata"]["labels"] == {"kai.scheduler/queue": "b"}
    wrong = runtime(replicated("node", "trainer"), metadata=settings(scheduler="x"))
    assert refusal({}, wrong)[0].startswith("ClusterTrainingRuntime r: metadata.annotations[")


def test_scheduler_annotations_mean_nothing_to_the_reference() -> None:
    asked = settings(scheduler="kai", queue="q")
    assert jobset(asked, behaviour=REFERENCE) == jobset({}, behaviour=REFERENCE)
    unknown = train_job(metadata=settings(scheduler="slurm"))
    assert pipeline.rendering_problems(unknown, PLAIN, behaviour=REFERENCE) == ()


def test_kai_waits_for_all_jobs_unless_one_waits_for_another() -> None:
    beside = runtime(replicated("ps"), replicated("node", "trainer"))
    assert "annotations" not in jobset(settings(scheduler="kai"), beside)["metadata"]
    after = runtime(
        replicated("node"), replicated("launcher", "trainer", dependsOn={"node": "Ready"})
    )
    found = jobset(settings(scheduler="kai"), after)
    assert found["metadata"]["annotations"] == {"kai.scheduler/batch-min-member": "1"}
    schedulers = {each["spec"]["schedulerName"] for each in pods(found).values()}
    assert schedulers == {"kai-scheduler"}


def test_yunikorn_lets_the_launcher_join_the_application_of_its_workers() -> None:
    limits = {"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": "1500m"}}
    on = runtime(
        replicated(
            "node",
            parallelism=3,
            containers=[{"name": "node", "image": "i", "resources": limits}],
            tolerations=[{"key": "gpu"}],
        ),
        replicated("launcher", "trainer", dependsOn={"node": "Ready"}),
    )
    found = pods(jobset(settings(scheduler="yunikorn"), on))
    node, launcher = found["node"]["metadata"], found["launcher"]["metadata"]
    groups = node["annotations"]["yunikorn.apache.org/task-groups"]
    assert json.loads(groups) == [
        {
            "name": "node",
            "minMember": 3,
            "minResource": {"nvidia.com/gpu": "8", "cpu": "1500m"},
            "tolerations": [{"key": "gpu"}],
        }
    ]
    assert node["annotations"]["yunikorn.apache.org/task-group-name"] == "node"
    assert launcher["annotations"] == {"yunikorn.apache.org/task-groups": groups}
    assert node["labels"] == launcher["labels"] == {"yunikorn.apache.org/app-id": "n.tj"}


def test_an_application_id_fits_a_label_and_stays_unique() -> None:
    ids = set()
    for tail in ("a", "b"):
        metadata = {"name": f"tj{tail}", "namespace": "n" * 61, **settings(scheduler="yunikorn")}
        labels = pods(jobset(metadata))["node"]["metadata"]["labels"]
        ids.add(labels["yunikorn.apache.org/app-id"])
    assert len(ids) == 2
    assert {len(each) for each in ids} == {63}
