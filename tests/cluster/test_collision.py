"""What has a name that a run wants, and is not the run's, is named, left alone and never taken."""

from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.submissions import OTHER, SECRET, Job
from tests.cluster.world import World, ok
from trainer_infra.cluster import live_objects
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.errors import Refused
from trainer_infra.runs.run import RunKey

NEVER = "choose another name, or delete it: adopt=True takes over runs, never single objects"


def service(world: World, name: str, owner: str = "") -> dict[str, Any]:
    """A Service of somebody, or of a JobSet that is gone."""
    metadata: dict[str, Any] = {"name": name}
    if owner:
        reference = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": owner}
        metadata["ownerReferences"] = [{**reference, "uid": "1", "controller": True}]
    value = {"metadata": metadata, "spec": {"ports": [{"port": 80}]}}
    place = f"/api/v1/namespaces/{world.namespace}/services"
    return dict(ok(world.client.create(place, value)))


def services(world: World) -> list[dict[str, Any]]:
    answer = world.client.get(f"/api/v1/namespaces/{world.namespace}/services")
    return list(ok(answer)["items"])


@pytest.mark.parametrize("adopt", [False, True])
def test_a_secret_is_left_alone_and_what_was_made_is_removed(
    cluster: Cluster, world: World, job: Job, adopt: bool
) -> None:
    theirs = {"metadata": {"name": "tj-secret"}, "data": {"token": "dGhlaXJz"}}
    before = world.make("Secret", theirs)
    job.secrets = {"token": SECRET}
    with pytest.raises(Refused) as error:
        cluster.submit(job.submission(), adopt=adopt)
    assert str(error.value).startswith(f"Secret {job.namespace}/tj-secret exists and belongs to ")
    assert str(error.value).endswith(NEVER)
    assert world.all_names() == {"Secret": ["tj-secret"]}
    assert world.there("Secret", "tj-secret") == before


@pytest.mark.parametrize("adopt", [False, True])
def test_a_jobset_is_one_sentence(cluster: Cluster, world: World, job: Job, adopt: bool) -> None:
    ours = job.submission().objects[-1]
    theirs = {**ours, "metadata": {"name": "tj"}}
    before = world.make("JobSet", theirs)
    with pytest.raises(Refused) as error:
        cluster.submit(job.submission(), adopt=adopt)
    assert str(error.value).startswith(f"JobSet {job.namespace}/tj exists and belongs to ")
    assert str(error.value).endswith(f"{NEVER}, as a JobSet cannot change")
    assert world.all_names() == {"JobSet": ["tj"]}
    assert world.there("JobSet", "tj") == before


@pytest.mark.parametrize("adopt", [False, True])
def test_a_service_would_keep_nodes_from_finding_one_another(
    cluster: Cluster, world: World, job: Job, adopt: bool
) -> None:
    before = service(world, "tj")
    with pytest.raises(Refused) as error:
        cluster.submit(job.submission(), adopt=adopt)
    assert str(error.value).startswith(f"Service {job.namespace}/tj exists and belongs to ")
    assert "headless Service of that name, by which pods find one another" in str(error.value)
    assert world.all_names() == {}
    assert [each["metadata"]["uid"] for each in services(world)] == [before["metadata"]["uid"]]


def test_a_service_that_a_jobset_of_that_name_left_is_no_collision(
    cluster: Cluster, world: World, job: Job
) -> None:
    service(world, "tj", owner="tj")
    assert cluster.submit(job.submission()).phase == "Created"


def test_a_run_that_is_there_is_found_again_whatever_service_there_is(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    service(world, "tj")
    assert cluster.submit(job.submission()) == first


@pytest.mark.parametrize(
    ("network", "name"),
    [
        (None, "tj"),
        ({}, "tj"),
        ({"enableDNSHostnames": True}, "tj"),
        ({"enableDNSHostnames": True, "subdomain": "mesh"}, "mesh"),
        ({"enableDNSHostnames": False, "subdomain": "mesh"}, ""),
    ],
)
def test_the_service_is_the_one_that_jobset_would_make(network: Any, name: str) -> None:
    jobset = {"metadata": {"name": "tj"}, "spec": {"network": network}}
    assert live_objects.service_name(jobset) == name


@pytest.mark.usefixtures("collector")
def test_a_run_is_not_replaced_by_one_that_cannot_have_its_names(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    world.make("Secret", {"metadata": {"name": "tj-secret"}, "data": {"token": "dGhlaXJz"}})
    other = replace(job, owner=OTHER, content="c2", secrets={"token": SECRET})
    with pytest.raises(Refused, match="tj-secret exists and belongs to"):
        cluster.submit(other.submission(), adopt=True)
    assert cluster.get(job.namespace, "tj") == first


@pytest.mark.usefixtures("collector")
def test_what_was_not_made_by_a_run_outlives_it(cluster: Cluster, world: World, job: Job) -> None:
    run = cluster.submit(job.submission())
    world.make("Secret", {"metadata": {"name": "tj-secret"}, "data": {"token": "dGhlaXJz"}})
    service(world, "tj")
    cluster.delete(RunKey(job.namespace, "tj", run.uid))
    assert world.all_names() == {"Secret": ["tj-secret"]}
    assert len(services(world)) == 1
