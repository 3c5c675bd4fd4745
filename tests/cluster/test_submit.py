"""A submit makes a record and what it owns, once, whoever else writes at the same time."""

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster.submissions import CODE, OTHER, OWNER, SECRET, Job
from tests.cluster.world import World, ok
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.errors import InvalidInput, NotAvailable, Refused

OBJECTS = {
    "ConfigMap": [f"tj-code-{CODE.digest()}", "tj-runtime-snapshot"],
    "JobSet": ["tj"],
}


def test_a_submit_makes_the_record_what_it_owns_and_the_jobset(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    record = world.there("ConfigMap", "tj-runtime-snapshot")
    assert (run.name, run.uid, run.phase) == ("tj", record["metadata"]["uid"], "Created")
    assert (run.owner, run.content, run.host) == (OWNER, "c1", cluster.host())
    assert cluster.get(job.namespace, "tj", run.uid) == run
    assert cluster.list_runs(job.namespace).runs == (run,)
    assert world.all_names() == OBJECTS
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "tj-runtime-snapshot",
        "uid": run.uid,
        "controller": True,
    }
    for kind, name in (("JobSet", "tj"), ("ConfigMap", f"tj-code-{CODE.digest()}")):
        assert world.there(kind, name)["metadata"]["ownerReferences"] == [owner]


def test_the_record_keeps_the_trainjob_the_objects_without_code_and_the_runtime_as_rendered(
    cluster: Cluster, world: World, job: Job
) -> None:
    submission = job.submission()
    cluster.submit(submission)
    data = world.there("ConfigMap", "tj-runtime-snapshot")["data"]
    assert data["runtime"] == submission.objects[0]["data"]["runtime"]
    assert json.loads(data["trainJob"]) == submission.job
    code, jobset = json.loads(data["objects"])
    assert code == {key: submission.objects[1][key] for key in code}
    assert set(submission.objects[1]) - set(code) == {"data"}
    assert jobset == submission.objects[-1]


def test_the_same_content_of_the_same_owner_is_the_same_run(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    jobset = world.there("JobSet", "tj")
    assert cluster.submit(job.submission()) == first
    assert world.there("JobSet", "tj") == jobset


def test_many_submitters_at_once_make_one_run(cluster: Cluster, world: World, job: Job) -> None:
    submission = replace(job.submission(), secret_data={})
    start = threading.Barrier(8)

    def submit() -> str:
        start.wait()
        return cluster.submit(submission).uid

    with ThreadPoolExecutor(8) as pool:
        uids = {each.result() for each in [pool.submit(submit) for _ in range(8)]}
    assert uids == {world.there("ConfigMap", "tj-runtime-snapshot")["metadata"]["uid"]}
    assert world.all_names() == OBJECTS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"owner": OTHER}, f"belongs to {OWNER.urn} of stack dev of project digits"),
        ({"content": "c2"}, "exists with other content"),
    ],
)
def test_a_run_of_that_name_is_refused_and_left_as_it_is(
    cluster: Cluster, job: Job, change: dict[str, Any], said: str
) -> None:
    first = cluster.submit(job.submission())
    with pytest.raises(Refused, match=said) as error:
        cluster.submit(replace(job, **change).submission())
    assert "adopt=True" in str(error.value)
    assert cluster.get(job.namespace, "tj") == first


def test_adopting_the_same_content_gives_the_run_a_new_owner_and_runs_nothing_again(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    first = cluster.submit(job.submission())
    before = world.there("JobSet", "tj")
    adopted = cluster.submit(replace(job, owner=OTHER).submission(), adopt=True)
    after = world.there("JobSet", "tj")
    assert adopted == replace(first, owner=OTHER)
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
    for kind, names in world.all_names().items():
        for name in names:
            labels = world.there(kind, name)["metadata"]["labels"]
            assert labels["trainer-infra.dev/stack"] == "prod"
    secret = world.there("Secret", "tj-secret")["data"]
    assert secret == {"token": base64.b64encode(SECRET.encode()).decode()}
    again = cluster.get(job.namespace, "tj")
    assert again is not None
    assert again.drift == {}


@pytest.mark.usefixtures("collector")
def test_adopting_with_other_content_deletes_the_run_and_makes_a_new_one(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    second = cluster.submit(replace(job, owner=OTHER, content="c2").submission(), adopt=True)
    assert second.uid != first.uid
    assert (second.owner, second.content) == (OTHER, "c2")
    owner = world.there("JobSet", "tj")["metadata"]["ownerReferences"]
    assert [each["uid"] for each in owner] == [second.uid]


def test_the_snapshot_of_a_controller_is_never_taken_over(
    cluster: Cluster, world: World, job: Job
) -> None:
    owner = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": "tj",
        "uid": "1",
        "controller": True,
    }
    metadata = {"name": "tj-runtime-snapshot", "ownerReferences": [owner]}
    before = world.make("ConfigMap", {"metadata": metadata, "data": {"runtime": "theirs"}})
    with pytest.raises(Refused, match="tj-runtime-snapshot belongs to TrainJob tj, which is not"):
        cluster.submit(job.submission(), adopt=True)
    assert world.there("ConfigMap", "tj-runtime-snapshot") == before


def test_when_the_cluster_refuses_an_object_everything_that_was_made_is_removed(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    submission = job.submission()
    jobset = submission.objects[-1]
    broken = {**jobset, "spec": {**jobset["spec"], "network": "none"}}
    bad = replace(submission, objects=(*submission.objects[:-1], broken))
    with pytest.raises((InvalidInput, Refused), match="network"):
        cluster.submit(bad)
    assert world.all_names() == {}


def test_a_namespace_that_does_not_exist_is_named(cluster: Cluster) -> None:
    with pytest.raises(NotAvailable) as error:
        cluster.submit(Job("nowhere").submission())
    assert str(error.value) == (
        "namespace nowhere does not exist, so ConfigMap nowhere/tj-runtime-snapshot cannot be "
        "made; create it, for example with `kubectl create namespace nowhere`, or name another one"
    )


def test_what_the_cluster_says_of_fields_is_a_problem_each(cluster: Cluster, job: Job) -> None:
    submission = job.submission()
    jobset = submission.objects[-1]
    spec = {**jobset["spec"], "startupPolicy": {"startupPolicyOrder": "Backwards"}}
    bad = replace(submission, objects=(*submission.objects[:-1], {**jobset, "spec": spec}))
    with pytest.raises(InvalidInput) as error:
        cluster.submit(bad)
    (problem,) = error.value.problems
    assert problem.path == "spec.startupPolicy.startupPolicyOrder"
    assert problem.where == f"JobSet {job.namespace}/tj"


def test_a_quota_that_is_used_up_is_said(cluster: Cluster, world: World, job: Job) -> None:
    hard = {"count/secrets": "0"}
    place = f"/api/v1/namespaces/{world.namespace}/resourcequotas"
    made = ok(world.client.create(place, {"metadata": {"name": "q"}, "spec": {"hard": hard}}))
    status = {"hard": hard, "used": {"count/secrets": "0"}}
    ok(world.client.replace(f"{place}/q/status", {**made, "status": status}))
    job.secrets = {"token": SECRET}
    with pytest.raises(Refused, match=r"tj-secret is refused by a quota: .*exceeded quota: q"):
        cluster.submit(job.submission())
    assert world.all_names() == {}


def test_a_lost_run_that_is_adopted_is_not_run_again(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    world.client.delete(world.path("JobSet", "tj"))
    adopted = cluster.submit(replace(job, owner=OTHER).submission(), adopt=True)
    assert (adopted.phase, adopted.uid, adopted.owner) == ("Lost", first.uid, OTHER)
    assert world.names("JobSet") == []


def test_what_is_larger_than_the_cluster_takes_is_said(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.spec = {"trainer": {"env": [{"name": "BIG", "value": "x" * 600_000}]}}
    with pytest.raises(Refused, match="tj-runtime-snapshot is larger than the cluster takes"):
        cluster.submit(job.submission())
    assert world.all_names() == {}


def test_a_user_without_the_right_is_told_so(
    api_server: RunningServer, world: World, job: Job, tmp_path: Path
) -> None:
    config = json.loads(api_server.kubeconfig.read_text())
    config["users"][0]["user"]["as"] = "eve"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    eve = Cluster(str(file), None)
    try:
        assert eve.host() == api_server.address.url
        with pytest.raises(Refused) as error:
            eve.submit(job.submission())
    finally:
        eve.close()
    assert str(error.value) == (
        f"this account may not submit run {job.namespace}/tj: in namespace {job.namespace} it lacks "
        "the right to list pods, get services, create, get, patch, delete and list configmaps, "
        "create, get, patch, delete and list jobsets.jobset.x-k8s.io; nothing was changed; ask for "
        "the Roles of docs/kubernetes.md, Rights"
    )
    assert world.all_names() == {}
