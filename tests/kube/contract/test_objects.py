"""Objects are made, read, listed and deleted alike by every client."""

import asyncio
from typing import Any

import pytest

from tests.kube import objects
from trainer_infra.kube.client import PAGE, KubeClient, ObjectSelection
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.refusals import Conflict, Exists, NotFound
from trainer_infra.kube.resource import (
    ACCESS_REVIEW,
    CLUSTER_TRAINING_RUNTIME,
    CONFIG_MAP,
    JOB,
    JOBSET,
    SECRET,
    TRAIN_JOB,
    Resource,
)


def test_what_is_created_is_read_back_with_what_the_server_adds(
    client: KubeClient, namespace: str
) -> None:
    made = run_in_loop(client.create(objects.config_map(namespace, data={"x": "1"}), manager="m"))
    read = run_in_loop(client.get(CONFIG_MAP, "a", namespace))

    assert read == made
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"x": "1"})
    metadata = made["metadata"]
    assert metadata["uid"]
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["creationTimestamp"].endswith("Z")
    assert "generation" not in metadata


def test_whether_something_is_allowed_is_answered_and_not_kept(client: KubeClient) -> None:
    attributes = {"verb": "create", "resource": "secrets", "namespace": "default"}
    review = {
        "apiVersion": ACCESS_REVIEW.api_version,
        "kind": ACCESS_REVIEW.kind,
        "metadata": {},
        "spec": {"resourceAttributes": attributes},
    }
    for _ in range(2):
        answer = run_in_loop(client.create(review, manager="m"))
        assert answer["status"]["allowed"] is True
        assert answer["spec"] == review["spec"]
        assert "name" not in answer["metadata"]


def test_a_second_create_of_the_same_name_is_refused(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.create(objects.config_map(namespace), manager="m"))
    with pytest.raises(Exists) as refused:
        run_in_loop(client.create(objects.config_map(namespace), manager="m"))

    assert refused.value.status == 409
    assert 'configmaps "a" already exists' in str(refused.value)


def test_what_comes_back_belongs_to_the_caller(client: KubeClient, namespace: str) -> None:
    made: Any = run_in_loop(
        client.create(objects.config_map(namespace, data={"x": "1"}), manager="m")
    )
    made["data"]["x"] = "changed"

    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace))["data"] == {"x": "1"}


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_dry_run_answers_as_usual_and_stores_nothing(
    client: KubeClient, namespace: str, verb: str
) -> None:
    do = client.create if verb == "create" else client.apply
    value = objects.config_map(namespace, data={"x": "1"})
    shown = run_in_loop(do(value, manager="m", dry_run=True))

    assert shown["data"] == {"x": "1"}
    with pytest.raises(NotFound):
        run_in_loop(client.get(CONFIG_MAP, "a", namespace))


def test_a_dry_run_of_a_change_leaves_the_object_as_it_is(
    client: KubeClient, namespace: str
) -> None:
    before = run_in_loop(client.apply(objects.config_map(namespace, data={"x": "1"}), manager="m"))
    value = objects.config_map(namespace, data={"x": "2"})
    shown = run_in_loop(client.apply(value, manager="m", dry_run=True))

    assert shown["data"] == {"x": "2"}
    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace)) == before


def test_applying_the_same_again_changes_nothing(client: KubeClient, namespace: str) -> None:
    value = objects.train_job(namespace)
    first = run_in_loop(client.apply(value, manager="m"))

    assert run_in_loop(client.apply(value, manager="m")) == first


def test_the_generation_counts_changes_of_the_specification_only(
    client: KubeClient, namespace: str
) -> None:
    def generation(**spec: Any) -> object:
        value = objects.train_job(namespace, **spec)
        return run_in_loop(client.apply(value, manager="m"))["metadata"]["generation"]

    assert generation(suspend=True) == 1
    labelled = objects.train_job(namespace, suspend=True)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert run_in_loop(client.apply(labelled, manager="m"))["metadata"]["generation"] == 1
    assert generation(suspend=False) == 2


def test_defaults_of_the_schema_are_stored(client: KubeClient, namespace: str) -> None:
    made = run_in_loop(client.create(objects.train_job(namespace), manager="m"))

    assert made["spec"] == {
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
            "name": "torch-distributed",
        },
        "suspend": False,
    }


def test_a_secrets_text_is_stored_coded(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.create(objects.secret(namespace, stringData={"x": "1"}), manager="m"))
    found = run_in_loop(client.get(SECRET, "a", namespace))

    assert found["data"] == {"x": "MQ=="}
    assert "stringData" not in found


def test_a_deleted_object_is_gone(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.create(objects.config_map(namespace), manager="m"))
    run_in_loop(client.delete(CONFIG_MAP, "a", namespace))

    with pytest.raises(NotFound) as refused:
        run_in_loop(client.get(CONFIG_MAP, "a", namespace))
    assert 'configmaps "a" not found' in str(refused.value)
    with pytest.raises(NotFound):
        run_in_loop(client.delete(CONFIG_MAP, "a", namespace))


def test_only_the_object_that_was_meant_is_deleted(client: KubeClient, namespace: str) -> None:
    made = run_in_loop(client.create(objects.config_map(namespace), manager="m"))
    other = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(Conflict) as refused:
        run_in_loop(client.delete(CONFIG_MAP, "a", namespace, uid=other))

    assert made["metadata"]["uid"] in str(refused.value)
    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace)) == made
    run_in_loop(client.delete(CONFIG_MAP, "a", namespace, uid=made["metadata"]["uid"]))


def test_a_finalizer_holds_an_object_until_its_owner_lets_go(
    client: KubeClient, namespace: str
) -> None:
    value = objects.config_map(namespace, metadata={"finalizers": ["test.dev/hold"]})
    run_in_loop(client.apply(value, manager="m"))
    run_in_loop(client.delete(CONFIG_MAP, "a", namespace))

    held = run_in_loop(client.get(CONFIG_MAP, "a", namespace))["metadata"]
    assert held["finalizers"] == ["test.dev/hold"]
    assert held["deletionTimestamp"]
    run_in_loop(client.apply(objects.config_map(namespace), manager="m"))
    with pytest.raises(NotFound):
        run_in_loop(client.get(CONFIG_MAP, "a", namespace))


def test_a_foreground_deletion_waits_for_the_garbage_collector(
    client: KubeClient, namespace: str
) -> None:
    run_in_loop(client.create(objects.job_set(namespace), manager="m"))
    run_in_loop(client.delete(JOBSET, "a", namespace, propagation="Foreground"))

    held = run_in_loop(client.get(JOBSET, "a", namespace))["metadata"]
    assert held["finalizers"] == ["foregroundDeletion"]
    assert held["deletionTimestamp"]


def test_kinds_are_found_with_their_plural_and_scope(client: KubeClient) -> None:
    found = [
        run_in_loop(client.resource(each.api_version, each.kind))
        for each in (CONFIG_MAP, JOB, JOBSET, TRAIN_JOB, CLUSTER_TRAINING_RUNTIME)
    ]
    assert found == [CONFIG_MAP, JOB, JOBSET, TRAIN_JOB, CLUSTER_TRAINING_RUNTIME]


def test_a_list_has_whole_objects_of_one_namespace(client: KubeClient, namespace: str) -> None:
    made = [
        run_in_loop(client.create(objects.secret(namespace, n), manager="m")) for n in ("b", "a")
    ]
    page = run_in_loop(client.list(ObjectSelection(SECRET, namespace)))

    assert sorted(page.items, key=lambda item: str(item["metadata"]["name"])) == made[::-1]
    assert int(page.resource_version) >= int(made[1]["metadata"]["resourceVersion"])


def test_a_list_of_every_namespace_has_what_is_in_this_one(
    client: KubeClient, namespace: str
) -> None:
    made = run_in_loop(client.create(objects.secret(namespace), manager="m"))

    assert made in run_in_loop(client.list(ObjectSelection(SECRET))).items


def test_a_list_of_more_than_one_page_is_whole(client: KubeClient, namespace: str) -> None:
    names = [f"n{number:04}" for number in range(PAGE + 20)]

    async def all_made() -> None:
        made = (client.create(objects.config_map(namespace, each), manager="m") for each in names)
        await asyncio.gather(*made)

    run_in_loop(all_made())
    found = run_in_loop(client.list(ObjectSelection(CONFIG_MAP, namespace))).items
    assert [
        each["metadata"]["name"] for each in found if each["metadata"]["name"] in names
    ] == names


@pytest.mark.parametrize(
    ("labels", "fields", "selected"),
    [
        ("tier=web", "", ["a", "b"]),
        ("tier==web,env!=dev", "", ["b"]),
        ("env in (dev, prod)", "", ["a", "b", "c"]),
        ("env notin (dev)", "", ["b", "c", "d"]),
        ("tier", "", ["a", "b", "c"]),
        ("!tier", "", ["d"]),
        ("", "metadata.name=c", ["c"]),
        ("tier=web", "metadata.name!=a", ["b"]),
    ],
)
def test_objects_are_selected_by_labels_and_fields(
    client: KubeClient, namespace: str, labels: str, fields: str, selected: list[str]
) -> None:
    has = {
        "a": {"tier": "web", "env": "dev"},
        "b": {"tier": "web", "env": "prod"},
        "c": {"tier": "db", "env": "prod"},
        "d": {},
    }
    for name, each in has.items():
        value = objects.secret(namespace, name, metadata={"labels": each})
        run_in_loop(client.create(value, manager="m"))
    found = run_in_loop(client.list(ObjectSelection(SECRET, namespace, labels, fields))).items

    assert [each["metadata"]["name"] for each in found] == selected


def test_a_kind_without_namespaces_has_none(client: KubeClient) -> None:
    node = Resource("v1", "Node", "nodes", namespaced=False)
    made = run_in_loop(client.apply(objects.of("v1", "Node", "", "n1"), manager="m"))

    assert "namespace" not in made["metadata"]
    assert run_in_loop(client.get(node, "n1"))["metadata"]["uid"] == made["metadata"]["uid"]
    run_in_loop(client.delete(node, "n1"))


def test_a_list_comes_in_pages_of_which_there_is_always_one(
    client: KubeClient, namespace: str
) -> None:
    async def sizes() -> list[int]:
        selection = ObjectSelection(CONFIG_MAP, namespace, "paged=yes")
        return [len(page.items) async for page in client.pages(selection)]

    assert run_in_loop(sizes()) == [0]
    for number in range(PAGE + 1):
        value = objects.config_map(namespace, f"paged-{number}")
        value["metadata"]["labels"] = {"paged": "yes"}
        run_in_loop(client.create(value, manager="m"))
    assert run_in_loop(sizes()) == [PAGE, 1]
