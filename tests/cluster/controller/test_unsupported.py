"""What Kubeflow Trainer's controller would leave out in silence is refused."""

import pytest

from tests.cluster.submissions import OWNER, Job
from trainer_infra import catalog, names
from trainer_infra.cluster import served_kinds, unsupported_fields
from trainer_infra.cluster.controller.engine_controller import controller_behaviour, unfilled_gangs
from trainer_infra.cluster.served_kinds import ServedKinds
from trainer_infra.errors import InvalidInput
from trainer_infra.platform.gang_schedulers import gang_runtime
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.trainers import compose

HERE = ServedKinds(reachable=True, jobset=True, server="https://here")


@pytest.mark.parametrize("key", [*names.JOB_SETTINGS, names.TTL_SECONDS])
def test_an_annotation_of_ours_that_the_controller_does_not_know(key: str) -> None:
    job = Job("default", engine="controller").submission()
    noted = {**job.job, "metadata": {**job.job["metadata"], "annotations": {key: "60"}}}
    (problem,) = unsupported_fields.of_engine_controller(noted, job.objects, names.UPSTREAM)
    assert str(problem) == (
        f"TrainJob tj: metadata.annotations[{key}]: is not supported by engine controller: Kubeflow "
        "Trainer's controller ignores it, got '60'; remove it, or run `pulumi config set "
        "trainer:engine provider`"
    )


@pytest.mark.parametrize("key", [*names.JOB_SETTINGS, names.TTL_SECONDS])
def test_our_controller_knows_them_but_for_kueue(key: str) -> None:
    job = Job("default", engine="controller").submission()

    def refused(annotations: dict[str, str]) -> list[str]:
        noted = {**job.job, "metadata": {**job.job["metadata"], "annotations": annotations}}
        found = unsupported_fields.of_engine_controller(noted, job.objects, names.BUILTIN)
        return [each.path for each in found]

    assert refused({key: "60", names.SCHEDULER: "volcano"}) == []
    queued = {names.SCHEDULER: "kueue", key: "kueue"}
    assert refused(queued) == [
        f"metadata.annotations[{each}]" for each in names.JOB_SETTINGS if each in queued
    ]


def test_an_annotation_of_the_runtime_too() -> None:
    wire = catalog.get("torch-distributed").to_wire()
    wire["metadata"]["annotations"] = {names.TTL_SECONDS: "60"}
    runtime = type(catalog.get("torch-distributed")).from_wire(wire)
    job = {
        "apiVersion": names.API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "default"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}},
    }
    made = compose.compose(job, runtime, None, (), controller_behaviour(PLUGINS, OWNER))
    (problem,) = unsupported_fields.of_engine_controller(
        made.job.to_wire(), made.objects, names.UPSTREAM
    )
    assert problem.where == "ClusterTrainingRuntime torch-distributed"


def test_a_plain_job_is_supported() -> None:
    job = Job("default", engine="controller", spec={"activeDeadlineSeconds": 60}).submission()
    assert unsupported_fields.of_engine_controller(job.job, job.objects, names.UPSTREAM) == ()


def said_of_gang(name: str, **spec: object) -> list[str]:
    """What is said of a run of a shipped runtime with a gang."""
    wire = gang_runtime(catalog.get(name).to_wire(), "coscheduling", "scheduler-plugins-scheduler")
    runtime = type(catalog.get(name)).from_wire(wire)
    job = {
        "apiVersion": names.API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "default"},
        "spec": {"runtimeRef": {"name": name}, **spec},
    }
    made = compose.compose(job, runtime, None, (), controller_behaviour(PLUGINS, OWNER))
    assert any(each["kind"] == "PodGroup" for each in made.objects)
    return list(unfilled_gangs(made.objects))


def test_a_gang_that_the_controller_counts_too_large() -> None:
    (said,) = said_of_gang("deepspeed-distributed", trainer={"numNodes": 3})
    assert said == (
        "TrainJob tj: Kubeflow Trainer's controller counts 3 pods in its gang, also those of job launcher, "
        "which start only after others: the scheduler waits for them and starts nothing; run `pulumi "
        "config set trainer:engine provider`, or take a runtime without podGroupPolicy"
    )
    storage = {"storageUri": "hf://a/b"}
    initializer = {"dataset": storage, "model": storage}
    (said,) = said_of_gang("torchtune-llama3.2-1b", initializer=initializer)
    assert "also those of job node, which start only after others" in said
    assert said_of_gang("torch-distributed") == []


def test_a_plugin_of_another_package() -> None:
    other = Plugin("Acme", applies=lambda _: True)
    with pytest.raises(InvalidInput, match="are not known by the cluster's controller"):
        controller_behaviour((*PLUGINS, other), OWNER)


def test_the_wrong_engine_for_a_cluster_is_said() -> None:
    with_jobs = ServedKinds(reachable=True, jobset=True, train_jobs=True, server="https://here")
    assert served_kinds.of_engine_provider(HERE) == ""
    assert served_kinds.of_engine_controller(with_jobs) == ""
    assert served_kinds.of_engine_provider(with_jobs).startswith(
        "the cluster at https://here serves TrainJobs, so a controller may be there; engine provider"
    )
    assert served_kinds.of_engine_controller(HERE) == (
        "the cluster at https://here serves no TrainJobs, which engine controller needs: install "
        "Kubeflow Trainer (docs/platform.md, TrainerControlPlane), or run "
        "`pulumi config set trainer:engine provider`"
    )
    assert served_kinds.of_engine_controller(ServedKinds(reachable=False)) == ""
