"""Drift is what somebody else made of our own fields, and nothing else."""

from typing import Any

import pytest

from tests.cluster.submissions import SECRET, Job
from tests.cluster.world import World
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.runs.run import Contents, Run, RunKey

TEMPLATE = "spec.replicatedJobs[node].template.spec"
POD = f"JobSet tj: {TEMPLATE}.template.spec"


def now(cluster: Cluster, job: Job) -> Run:
    found = cluster.get(job.namespace, "tj")
    assert found is not None
    return found


def template(jobset: dict[str, Any]) -> Any:
    return jobset["spec"]["replicatedJobs"][0]["template"]["spec"]


def container(jobset: dict[str, Any]) -> Any:
    return template(jobset)["template"]["spec"]["containers"][0]


def edited(world: World, change: Any, manager: str = "kubectl-edit") -> dict[str, Any]:
    return world.change("JobSet", "tj", change, fieldManager=manager)


def time_of(value: dict[str, Any], manager: str) -> str:
    return next(
        str(each["time"])
        for each in value["metadata"]["managedFields"]
        if each["manager"] == manager
    )


def test_a_field_of_ours_that_was_changed_is_drift_and_says_whose_it_is_now(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())

    def change(value: dict[str, Any]) -> None:
        container(value)["image"] = "acme/other:1"
        container(value)["env"][0]["value"] = "7"
        container(value)["command"] = ["sleep"]
        template(value)["parallelism"] = 5
        value["metadata"]["labels"]["trainer-infra.dev/stack"] = "prod"
        del container(value)["env"][1]

    live = edited(world, change)
    whose = f", set by kubectl-edit at {time_of(live, 'kubectl-edit')}"
    drift = {
        "JobSet tj: metadata.labels[trainer-infra.dev/stack]": f"'prod'{whose}",
        f"{POD}.containers[node].command": f"['sleep']{whose}",
        f"{POD}.containers[node].env[PET_NNODES].value": f"'7'{whose}",
        f"{POD}.containers[node].env[PET_NPROC_PER_NODE]": "was removed",
        f"{POD}.containers[node].image": f"'acme/other:1'{whose}",
        f"JobSet tj: {TEMPLATE}.parallelism": f"5{whose}",
    }
    assert now(cluster, job).drift == drift
    repaired = cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    assert repaired.drift == {}
    assert repaired.uid == run.uid
    assert container(world.there("JobSet", "tj"))["image"] != "acme/other:1"


def test_what_others_add_is_no_drift_and_stays_when_ours_is_repaired(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())

    def change(value: dict[str, Any]) -> None:
        value["metadata"]["labels"]["team"] = "vision"
        value["metadata"].setdefault("annotations", {})["note"] = "mine"
        container(value)["env"].append({"name": "ADDED", "value": "1"})
        template(value)["template"]["spec"]["nodeSelector"] = {"pool": "gpu"}
        value["spec"]["suspend"] = True

    edited(world, change, "kueue")
    assert now(cluster, job).drift == {}

    def harm(value: dict[str, Any]) -> None:
        container(value)["image"] = "acme/other:1"

    edited(world, harm)
    cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    jobset = world.there("JobSet", "tj")
    assert now(cluster, job).drift == {}
    assert jobset["metadata"]["labels"]["team"] == "vision"
    assert container(jobset)["env"][-1] == {"name": "ADDED", "value": "1"}
    assert template(jobset)["template"]["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert jobset["spec"]["suspend"] is True


def test_a_secret_that_somebody_wrote_is_drift_without_its_value(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET, "user": "me"}
    run = cluster.submit(job.submission())
    assert now(cluster, job).drift == {}

    def change(value: dict[str, Any]) -> None:
        value["data"]["token"] = "dGhlaXJz"
        del value["data"]["user"]

    live = world.change("Secret", "tj-secret", change, fieldManager="kubectl-edit")
    assert now(cluster, job).drift == {
        "Secret tj-secret: data.token": (
            f"<secret>, set by kubectl-edit at {time_of(live, 'kubectl-edit')}"
        ),
        "Secret tj-secret: data.user": "was removed",
    }
    cluster.update_secrets(RunKey(job.namespace, "tj", run.uid), job.secrets)
    assert now(cluster, job).drift == {}


def test_values_of_a_secret_that_somebody_changed_or_removed_are_written_again(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET, "user": "me"}
    run = cluster.submit(job.submission())
    before = world.there("Secret", "tj-secret")["data"]

    def change(value: dict[str, Any]) -> None:
        value["data"]["token"] = "dGhlaXJz"
        value["data"]["theirs"] = "eA=="
        del value["data"]["user"]

    world.change("Secret", "tj-secret", change, fieldManager="kubectl-edit")
    repaired = cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    assert repaired.drift == {}
    assert world.there("Secret", "tj-secret")["data"] == {**before, "theirs": "eA=="}


def test_a_secret_that_is_gone_is_made_again_with_the_values_of_the_state(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    run = cluster.submit(job.submission())
    before = world.there("Secret", "tj-secret")
    world.client.delete(world.path("Secret", "tj-secret"))
    assert now(cluster, job).drift == {"Secret tj-secret": "is gone"}
    cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    made = world.there("Secret", "tj-secret")
    assert (made["data"], made["metadata"]["ownerReferences"]) == (
        before["data"],
        before["metadata"]["ownerReferences"],
    )


def test_code_that_is_gone_is_made_again(cluster: Cluster, world: World, job: Job) -> None:
    run = cluster.submit(job.submission())
    (name,) = (each for each in world.names("ConfigMap") if each.startswith("tj-code-"))
    before = world.there("ConfigMap", name)
    world.client.delete(world.path("ConfigMap", name))
    assert now(cluster, job).drift == {f"ConfigMap {name}": "is gone"}
    cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    made = world.there("ConfigMap", name)
    assert (made["data"], made["immutable"]) == (before["data"], True)


def test_keys_that_somebody_changed_are_a_new_pair(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.runtime, job.code = "deepspeed-distributed", None
    run = cluster.submit(job.submission())
    theirs = world.there("Secret", "tj-mpi-ssh-auth")
    world.client.delete(world.path("Secret", "tj-mpi-ssh-auth"))
    kept = {key: theirs["metadata"][key] for key in ("name", "labels", "ownerReferences")}
    foreign = dict.fromkeys(theirs["data"], "dGhlaXJz")
    world.make("Secret", {**theirs, "metadata": kept, "data": foreign})
    drift = now(cluster, job).drift
    assert set(drift) == {
        "Secret tj-mpi-ssh-auth: data.ssh-privatekey",
        "Secret tj-mpi-ssh-auth: data.ssh-publickey",
    }
    repaired = cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    assert repaired.drift == {}
    made = world.there("Secret", "tj-mpi-ssh-auth")["data"]
    assert made.keys() == foreign.keys()
    assert not {*made.values()} & {*foreign.values(), *theirs["data"].values()}


def test_a_secret_of_somebody_else_in_place_of_ours_is_not_taken(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    run = cluster.submit(job.submission())
    live = world.there("Secret", "tj-secret")
    world.client.delete(world.path("Secret", "tj-secret"))
    metadata = {"name": "tj-secret", "namespace": job.namespace}
    foreign = {**live, "metadata": metadata, "data": {"token": "dGhlaXJz"}}
    world.make("Secret", foreign)
    with pytest.raises(Refused, match=r"tj-secret belongs to .* now; delete it, then run"):
        cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    assert world.there("Secret", "tj-secret")["data"] == {"token": "dGhlaXJz"}


def test_labels_of_a_secret_are_repaired_and_its_values_kept(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    run = cluster.submit(job.submission())
    before = world.there("Secret", "tj-secret")["data"]

    def change(value: dict[str, Any]) -> None:
        value["metadata"]["labels"] = {}

    world.change("Secret", "tj-secret", change)
    assert now(cluster, job).drift == {"Secret tj-secret: metadata.labels": "was removed"}
    assert (
        cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents).drift == {}
    )
    assert world.there("Secret", "tj-secret")["data"] == before


def test_an_object_that_is_gone_is_drift_and_made_again_where_its_content_is_known(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.runtime, job.code = "deepspeed-distributed", None
    run = cluster.submit(job.submission())
    for kind, name in (("ConfigMap", "tj-mpi-hostfile"), ("Secret", "tj-mpi-ssh-auth")):
        world.client.delete(world.path(kind, name))
    assert now(cluster, job).drift == {
        "ConfigMap tj-mpi-hostfile": "is gone",
        "Secret tj-mpi-ssh-auth": "is gone",
    }
    assert (
        cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents).drift == {}
    )
    assert "tj-mpi-hostfile" in world.names("ConfigMap")


def test_a_secret_that_is_gone_and_whose_values_nobody_has_cannot_be_made_again(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    run = cluster.submit(job.submission())
    world.client.delete(world.path("Secret", "tj-secret"))
    assert now(cluster, job).drift == {"Secret tj-secret": "is gone"}
    with pytest.raises(NotAvailable, match="what was in it is kept nowhere else; raise attempt"):
        cluster.repair(RunKey(job.namespace, "tj", run.uid), Contents())


def test_suspending_and_resuming_is_no_drift_and_survives_a_repair(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    suspended = cluster.suspend(RunKey(job.namespace, "tj", run.uid), True)
    assert (suspended.phase, suspended.drift, suspended.waiting_for) == ("Suspended", {}, "")
    assert world.there("JobSet", "tj")["spec"]["suspend"] is True

    def harm(value: dict[str, Any]) -> None:
        container(value)["image"] = "acme/other:1"

    edited(world, harm)
    assert (
        cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents).phase
        == "Suspended"
    )
    assert world.there("JobSet", "tj")["spec"]["suspend"] is True
    resumed = cluster.suspend(RunKey(job.namespace, "tj", run.uid), False)
    assert (resumed.phase, resumed.drift) == ("Created", {})
    assert world.there("JobSet", "tj")["spec"]["suspend"] is False
    edited(world, harm)
    cluster.repair(RunKey(job.namespace, "tj", run.uid), job.submission().contents)
    assert world.there("JobSet", "tj")["spec"]["suspend"] is False
    assert cluster.submit(job.submission()).phase == "Created"


@pytest.mark.parametrize("verb", ["suspend", "repair", "update_secrets"])
def test_a_run_that_is_not_there_is_said(cluster: Cluster, job: Job, verb: str) -> None:
    more: tuple[Any, ...] = {"suspend": (True,), "repair": (Contents(),)}.get(verb, ({},))
    with pytest.raises(NotAvailable, match=f"there is no run {job.namespace}/tj with uid u in"):
        getattr(cluster, verb)(RunKey(job.namespace, "tj", "u"), *more)
