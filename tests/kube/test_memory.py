"""What a client in memory has beyond the contract: the garbage collector, and its own limits."""

from typing import Any

import pytest

from tests.fake_api_server.memory import Memory
from tests.kube import objects
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.refusals import Forbidden, NotFound, NotServed
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET, NAMESPACE, SECRET, Resource


def owned(owner: JSONObject, name: str) -> JSONObject:
    """A Secret that belongs to another object."""
    reference: dict[str, Any] = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    return objects.secret("default", name, metadata={"ownerReferences": [reference]})


def family(memory: Memory) -> None:
    """A JobSet, a Secret of it and a Secret of that."""
    parent = run_in_loop(memory.create(objects.job_set("default"), manager="m"))
    child = run_in_loop(memory.create(owned(parent, "child"), manager="m"))
    run_in_loop(memory.create(owned(child, "grandchild"), manager="m"))
    run_in_loop(memory.create(objects.secret("default", "other"), manager="m"))


def left(memory: Memory) -> list[str]:
    return [
        each["metadata"]["name"] for each in run_in_loop(memory.list(ObjectSelection(SECRET))).items
    ]


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_what_belongs_to_a_deleted_object_goes_with_it(memory: Memory, propagation: Any) -> None:
    family(memory)
    run_in_loop(memory.delete(JOBSET, "a", "default", propagation=propagation))
    assert left(memory) == ["child", "grandchild", "other"]

    memory.collect_garbage()
    assert left(memory) == ["other"]
    with pytest.raises(NotFound):
        run_in_loop(memory.get(JOBSET, "a", "default"))


def test_orphans_stay_without_their_owner(memory: Memory) -> None:
    family(memory)
    run_in_loop(memory.delete(JOBSET, "a", "default", propagation="Orphan"))
    memory.collect_garbage()

    assert left(memory) == ["child", "grandchild", "other"]
    assert run_in_loop(memory.get(SECRET, "child", "default"))["metadata"]["ownerReferences"] == []


def test_nothing_is_made_in_a_namespace_that_is_being_deleted(memory: Memory) -> None:
    value = objects.of("v1", "Namespace", "", "ending", metadata={"finalizers": ["a/b"]})
    run_in_loop(memory.apply(value, manager="m"))
    run_in_loop(memory.delete(NAMESPACE, "ending"))
    with pytest.raises(Forbidden, match="is being terminated"):
        run_in_loop(memory.create(objects.config_map("ending"), manager="m"))


def test_only_the_kinds_that_a_test_names_are_served() -> None:
    queue = Resource("example.com/v1", "Queue", "queues")
    memory = Memory([queue])
    made = run_in_loop(
        memory.create(objects.of("example.com/v1", "Queue", "default", "a"), manager="m")
    )

    assert run_in_loop(memory.get(queue, "a", "default")) == made
    with pytest.raises(NotServed):
        run_in_loop(memory.get(CONFIG_MAP, "a", "default"))
