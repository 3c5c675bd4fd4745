"""Drift of a run of engine `controller`: our own fields of what we store, and nothing else."""

from typing import Any

import pytest

from tests.cluster.submissions import CODE, SECRET, Job
from tests.cluster.trainer import ReconciledCluster
from tests.cluster.world import World, eventually
from trainer_infra.errors import NotAvailable
from trainer_infra.runs.run import Contents, Run

CODE_NAME = f"tj-code-{CODE.digest()}"
KUEUE = "kueue.x-k8s.io/manager"


def now(controlled: ReconciledCluster, job: Job) -> Run:
    found = controlled.get(job.namespace, "tj")
    assert found is not None
    return found


def begun(controlled: ReconciledCluster, job: Job) -> Run:
    controlled.submit(job.submission())
    return now(controlled, job)


def test_what_kueue_and_the_controller_write_is_no_drift(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    begun(controlled, job)

    def queue(value: dict[str, Any]) -> None:
        value["spec"]["suspend"] = True
        value["spec"]["runtimePatches"].append({"manager": KUEUE, "trainingRuntimeSpec": {}})
        value["metadata"]["labels"]["kueue.x-k8s.io/managed"] = "true"

    world.change("TrainJob", "tj", queue, fieldManager="kueue")

    def scale(value: dict[str, Any]) -> None:
        value["metadata"].setdefault("annotations", {})["kueue.x-k8s.io/seen"] = "yes"

    world.change("JobSet", "tj", scale, fieldManager="trainer")
    assert now(controlled, job).drift == {}


def test_a_changed_label_is_drift_that_names_its_writer_and_is_repaired(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.metadata = {"labels": {"team": "vision"}, "annotations": {"why": "because"}}
    run = begun(controlled, job)

    def change(value: dict[str, Any]) -> None:
        value["metadata"]["labels"]["team"] = "audio"
        value["metadata"]["annotations"]["why"] = "no reason"

    world.change("TrainJob", "tj", change, fieldManager="kubectl-edit")
    found = now(controlled, job).drift
    assert sorted(found) == [
        "TrainJob tj: metadata.annotations.why",
        "TrainJob tj: metadata.labels.team",
    ]
    assert found["TrainJob tj: metadata.labels.team"].startswith("'audio', set by kubectl-edit at ")
    assert controlled.repair(run.key, Contents()).drift == {}
    stored = world.there("TrainJob", "tj")["metadata"]
    assert (stored["labels"]["team"], stored["annotations"]["why"]) == ("vision", "because")
    assert stored["uid"] == run.uid


def test_a_repair_leaves_suspend_to_whose_it_is(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.metadata = {"labels": {"team": "vision"}}
    job.spec = {"suspend": False}
    run = begun(controlled, job)

    def change(value: dict[str, Any]) -> None:
        value["metadata"]["labels"]["team"] = "audio"
        value["spec"]["suspend"] = True

    world.change("TrainJob", "tj", change, fieldManager="kueue")
    assert list(now(controlled, job).drift) == ["TrainJob tj: metadata.labels.team"]
    controlled.repair(run.key, Contents())
    assert world.there("TrainJob", "tj")["spec"]["suspend"] is True


def test_code_that_is_gone_is_drift_and_is_written_again_from_the_state(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    run = begun(controlled, job)
    code = world.there("ConfigMap", CODE_NAME)
    world.client.delete(world.path("ConfigMap", CODE_NAME))
    assert now(controlled, job).drift == {f"ConfigMap {CODE_NAME}": "is gone"}
    with pytest.raises(NotAvailable, match="is kept nowhere else"):
        controlled.repair(run.key, Contents())
    assert controlled.repair(run.key, job.submission().contents).drift == {}
    after = world.there("ConfigMap", CODE_NAME)
    assert after["data"] == code["data"]
    assert after["metadata"]["ownerReferences"] == code["metadata"]["ownerReferences"]


def test_a_value_of_the_secret_is_drift_that_is_not_shown(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    run = begun(controlled, job)

    def change(value: dict[str, Any]) -> None:
        value["data"]["env.TOKEN"] = "c3RvbGVu"

    world.change("Secret", "tj-secret", change, fieldManager="kubectl-edit")
    (found,) = now(controlled, job).drift.values()
    assert found.startswith("<secret>, set by kubectl-edit")
    assert controlled.repair(run.key, job.submission().contents).drift == {}


def test_drift_is_found_in_many_runs_that_are_looked_at_at_once(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    uids = set()
    for index in range(6):
        job.name, job.content = f"tj{index}", f"c{index}"
        uids.add(controlled.submit(job.submission()).uid)
    assert {each.uid for each in controlled.list_runs(job.namespace).runs} == uids

    def change(value: dict[str, Any]) -> None:
        value["metadata"]["labels"]["trainer-infra.dev/run"] = "other"

    world.change("TrainJob", "tj3", change, fieldManager="kubectl-edit")

    def drifted() -> list[str]:
        found = [controlled.get(job.namespace, f"tj{index}") for index in range(6)]
        return [each.name for each in found if each and each.drift]

    # What was just listed is not listed again at once.
    assert eventually(drifted) == ["tj3"]
