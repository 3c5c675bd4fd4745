"""What the platform's components declare is what a real API server takes, every field of it."""

from collections.abc import Collection, Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.platform.declared_resources import declared_objects
from trainer_infra import platform
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.platform.releases import RELEASES, Release

COMPONENTS = {
    "Coscheduling": platform.Coscheduling,
    "JobSet": platform.JobSetController,
    "Kueue": platform.Kueue,
    "LeaderWorkerSet": platform.LeaderWorkerSetController,
    "Trainer": platform.TrainerControlPlane,
    "Volcano": platform.Volcano,
}


@pytest.fixture(scope="module")
def client(api_server: RunningServer) -> Iterator[KubeClient]:
    made = loop.run_in_loop(http.connect_client(str(api_server.kubeconfig)))
    yield made
    loop.run_in_loop(made.close())


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("release", RELEASES, ids=lambda each: f"{each.project}-{each.version}")
def test_the_server_takes_every_object(client: KubeClient, release: Release) -> None:
    component, given = COMPONENTS[release.project], {"version": release.version}
    if release.project == "Trainer":
        given["implementation"] = "upstream"
    judge_objects(client, declared_objects(lambda: component("it", **given)).values())


def test_the_server_takes_every_object_of_our_own_controller(client: KubeClient) -> None:
    objects = declared_objects(lambda: platform.TrainerControlPlane("it"))
    judge_objects(client, objects.values())


def judge_objects(client: KubeClient, objects: Collection[JSONObject]) -> None:
    assert len(objects) >= 13
    for each in objects:
        # A namespace that is not there refuses what is to be in it, in a dry run too.
        dry_run = each["kind"] != "Namespace"
        stored = loop.run_in_loop(client.apply(each, manager="test", dry_run=dry_run, force=True))
        assert stored["metadata"]["name"] == each["metadata"]["name"]
