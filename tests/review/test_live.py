"""The objects of a cluster, as `check` sees them; tests/apiserver asks a real server."""

from typing import Any

import pytest
from typing_extensions import override

from tests.fake_api_server.memory import Memory
from tests.kube import objects
from tests.review import checked
from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection, Page
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.refusals import Unreachable, of_status
from trainer_infra.kube.resource import JOBSET, TRAIN_JOB, TRAINING_RUNTIME, Resource
from trainer_infra.review import live
from trainer_infra.review.documents import Document
from trainer_infra.review.live import Live

QUEUE = "ClusterQueue"
QUOTA = Resource("v1", names.RESOURCE_QUOTA, "resourcequotas")
REFUSED = 'trainingruntimes is forbidden: User "a" cannot list resource'


def queues(version: str) -> Resource:
    return Resource(f"{names.KUEUE_GROUP}/{version}", QUEUE, "clusterqueues", namespaced=False)


def make(client: KubeClient, *values: JSONObject) -> None:
    for each in values:
        run_in_loop(client.create(each, manager="test"))


def found(client: KubeClient, namespace: str = "") -> Live:
    return run_in_loop(live.objects(client, namespace))


def queue(version: str) -> dict[str, Any]:
    return objects.of(f"{names.KUEUE_GROUP}/{version}", QUEUE, "", "main", spec={"a": 1})


def job(namespace: str) -> dict[str, Any]:
    """One that says what a server would say for it."""
    runtime = {
        "name": "torch-distributed",
        "apiGroup": names.GROUP,
        "kind": names.CLUSTER_TRAINING_RUNTIME,
    }
    return objects.train_job(
        namespace, runtimeRef=runtime, managedBy=names.MANAGED_BY, suspend=False
    )


class Guarded(Memory):
    """A server that does not let its user list a kind; test_live_objects.py shows the real one."""

    @override
    async def list(self, selection: ObjectSelection) -> Page:
        kind = selection.resource
        if kind == TRAINING_RUNTIME:
            raise of_status(403, {"reason": "Forbidden", "message": REFUSED}, "list")
        return await super().list(selection)


class Gone(Memory):
    """A server that answers no more."""

    @override
    async def list(self, selection: ObjectSelection) -> Page:
        raise Unreachable(self.server, "list", 1, 1.0, "refused")


def test_objects_come_as_they_were_written() -> None:
    client = Memory([TRAIN_JOB, QUOTA])
    written = [job("default"), objects.of("v1", QUOTA.kind, "default", "q", spec={"hard": {}})]
    make(client, *written, job("kube-system"))
    status = {**written[0], "status": {"jobsStatus": []}}
    run_in_loop(client.patch_status(status, manager="test"))

    assert found(client, "default") == Live(tuple(written))
    assert found(client) == Live((written[0], job("kube-system"), written[1]))


@pytest.mark.parametrize(
    ("served", "seen"),
    [(("v1beta1", "v1beta2"), "v1beta2"), (("v1beta1",), "v1beta1"), (("v1beta2",), "v1beta2")],
)
def test_of_several_versions_the_newest_is_read(served: tuple[str, ...], seen: str) -> None:
    client = Memory([queues(each) for each in served])
    make(client, *map(queue, served))
    assert found(client) == Live((queue(seen),))


def test_kinds_of_one_name_are_read_of_every_group() -> None:
    versions = (names.VOLCANO_API_VERSION, names.COSCHEDULING_API_VERSION)
    client = Memory([Resource(each, "PodGroup", "podgroups") for each in versions])
    groups = [objects.of(each, "PodGroup", "default", "a") for each in versions]
    make(client, *groups)
    assert found(client) == Live(tuple(groups))


def test_a_cluster_without_our_kinds_has_nothing() -> None:
    assert found(Memory([])) == Live()


def test_a_kind_that_may_not_be_read_is_a_sentence() -> None:
    client = Guarded([TRAIN_JOB, TRAINING_RUNTIME])
    make(client, job("default"))
    assert found(client) == Live(
        (job("default"),),
        (f"cluster: TrainingRuntime objects cannot be read: {REFUSED}",),
    )


def test_a_server_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(Unreachable):
        found(Gone([TRAIN_JOB]))


def test_what_controllers_made_is_there_and_not_judged() -> None:
    client = Memory([TRAIN_JOB, JOBSET])
    make(client, objects.train_job("default"))
    uid = run_in_loop(client.get(TRAIN_JOB, "a", "default"))["metadata"]["uid"]
    owner = {"apiVersion": names.API_VERSION, "kind": "TrainJob", "name": "a", "uid": uid}
    owned = {"ownerReferences": [{**owner, "controller": True}]}
    shared = {"ownerReferences": [owner]}
    make(
        client,
        {**objects.job_set("default"), "metadata": {"name": "a", "namespace": "default", **owned}},
        {**objects.job_set("default"), "metadata": {"name": "b", "namespace": "default", **shared}},
    )
    seen = found(client)
    assert len(seen.objects) == 3
    job, _, own = seen.objects
    assert seen.documents() == (
        Document(job, "cluster: TrainJob default/a", None, is_editable=False),
        Document(own, "cluster: JobSet default/b", None, is_editable=False),
    )


def test_a_live_object_is_judged_without_a_place_in_a_file() -> None:
    client = Memory([TRAIN_JOB])
    make(client, objects.train_job("default", trainer={"image": "a:latest"}))
    report = checked.of(found(client).documents(), "image-latest")
    place = ("image-latest", "cluster: TrainJob default/a", 0, "spec.trainer.image")
    assert checked.places(report) == [place]
    assert report.items[0].edits == ()
