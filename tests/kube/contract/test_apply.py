"""Server-side apply: who owns what, what goes, and what is a conflict, alike by every client."""

from typing import Any

import pytest

from tests.kube import objects
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.refusals import Conflict, NotFound
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET


def owners(value: JSONObject) -> list[tuple[str, str, str, Any]]:
    """Manager, operation, subresource and fields of each entry, in the order of the managers."""
    entries = value["metadata"].get("managedFields", [])
    return sorted(
        (each["manager"], each["operation"], each.get("subresource", ""), each["fieldsV1"])
        for each in entries
    )


def test_two_managers_own_what_each_has_applied(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.apply(objects.config_map(namespace, data={"x": "1"}), manager="one"))
    both = run_in_loop(client.apply(objects.config_map(namespace, data={"y": "2"}), manager="two"))

    assert both["data"] == {"x": "1", "y": "2"}
    assert owners(both) == [
        ("one", "Apply", "", {"f:data": {"f:x": {}}}),
        ("two", "Apply", "", {"f:data": {"f:y": {}}}),
    ]


def test_what_others_own_with_another_value_is_a_conflict_that_names_them(
    client: KubeClient, namespace: str
) -> None:
    before = run_in_loop(
        client.apply(objects.config_map(namespace, data={"x": "1"}), manager="one")
    )
    with pytest.raises(Conflict) as refused:
        run_in_loop(client.apply(objects.config_map(namespace, data={"x": "2"}), manager="two"))

    assert 'conflict with "one": .data.x' in str(refused.value)
    assert [(each.path, each.what) for each in refused.value.problems] == [
        ("data.x", 'conflict with "one"')
    ]
    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace)) == before


def test_force_takes_a_field_from_its_owner(client: KubeClient, namespace: str) -> None:
    value = objects.config_map(namespace, data={"x": "1", "y": "1"})
    run_in_loop(client.apply(value, manager="one"))
    value = objects.config_map(namespace, data={"x": "2"})
    taken = run_in_loop(client.apply(value, manager="two", force=True))

    assert taken["data"] == {"x": "2", "y": "1"}
    assert owners(taken) == [
        ("one", "Apply", "", {"f:data": {"f:y": {}}}),
        ("two", "Apply", "", {"f:data": {"f:x": {}}}),
    ]


def test_the_same_value_is_owned_together_and_stays_while_one_applies_it(
    client: KubeClient, namespace: str
) -> None:
    value = objects.config_map(namespace, data={"x": "1"})
    run_in_loop(client.apply(value, manager="one"))
    shared = run_in_loop(client.apply(value, manager="two"))
    assert [each[0] for each in owners(shared)] == ["one", "two"]

    left = run_in_loop(client.apply(objects.config_map(namespace), manager="one"))
    assert left["data"] == {"x": "1"}
    assert [each[0] for each in owners(left)] == ["two"]
    gone = run_in_loop(client.apply(objects.config_map(namespace), manager="two"))
    assert "data" not in gone


def test_what_is_applied_no_more_goes(client: KubeClient, namespace: str) -> None:
    first = objects.training_runtime(namespace, numNodes=2, mpi={"sshAuthMountPath": "/a"})
    first["metadata"]["labels"] = {"a": "b", "c": "d"}
    run_in_loop(client.apply(first, manager="m"))
    second = objects.training_runtime(namespace, numNodes=3)
    second["metadata"]["labels"] = {"a": "b"}
    changed = run_in_loop(client.apply(second, manager="m"))

    assert changed["spec"]["mlPolicy"] == {"numNodes": 3}
    assert changed["metadata"]["labels"] == {"a": "b"}


def test_what_a_create_has_set_stays_with_its_creator(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.create(objects.config_map(namespace, data={"x": "1"}), manager="m"))
    left = run_in_loop(client.apply(objects.config_map(namespace, data={"y": "2"}), manager="m"))

    assert left["data"] == {"x": "1", "y": "2"}
    assert [each[:2] for each in owners(left)] == [("m", "Apply"), ("m", "Update")]


def test_lists_are_merged_by_their_keys(client: KubeClient, namespace: str) -> None:
    value = objects.job_set(namespace, "a", objects.replicated_job("node"))
    run_in_loop(client.apply(value, manager="one"))
    value = objects.job_set(namespace, "a", objects.replicated_job("launcher", 2))
    both = run_in_loop(client.apply(value, manager="two"))

    found = {each["name"]: each["replicas"] for each in both["spec"]["replicatedJobs"]}
    assert found == {"node": 1, "launcher": 2}
    (_, _, _, mine), _ = owners(both)
    container: Any = {".": {}, "f:image": {}, "f:name": {}}
    template = {"f:containers": {'k:{"name":"node"}': container}, "f:restartPolicy": {}}
    job = {"f:spec": {"f:template": {"f:spec": template}}}
    assert mine == {
        "f:spec": {
            "f:replicatedJobs": {
                'k:{"name":"node"}': {
                    ".": {},
                    "f:name": {},
                    "f:replicas": {},
                    "f:template": job,
                }
            }
        }
    }


def test_an_item_of_a_list_that_is_applied_no_more_goes(client: KubeClient, namespace: str) -> None:
    two = [objects.replicated_job("node"), objects.replicated_job("launcher")]
    run_in_loop(client.apply(objects.job_set(namespace, "a", *two), manager="m"))
    left = run_in_loop(client.apply(objects.job_set(namespace, "a", two[1]), manager="m"))

    assert [each["name"] for each in left["spec"]["replicatedJobs"]] == ["launcher"]


def test_the_status_has_owners_of_its_own(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.apply(objects.job_set(namespace), manager="one"))
    condition = {
        "type": "Completed",
        "status": "True",
        "reason": "Done",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    value = objects.of(
        "jobset.x-k8s.io/v1alpha2", "JobSet", namespace, "a", status={"conditions": [condition]}
    )
    changed = run_in_loop(client.patch_status(value, manager="two"))

    assert changed["status"]["conditions"] == [condition]
    assert changed["metadata"]["generation"] == 1
    assert [each[:3] for each in owners(changed)] == [
        ("one", "Apply", ""),
        ("two", "Apply", "status"),
    ]
    fields: Any = {f"f:{name}": {} for name in condition}
    assert owners(changed)[1][3] == {
        "f:status": {"f:conditions": {'k:{"type":"Completed"}': {".": {}, **fields}}}
    }


def test_a_merged_status_replaces_lists_of_others_and_keeps_what_it_leaves_out(
    client: KubeClient, namespace: str
) -> None:
    run_in_loop(client.apply(objects.job_set(namespace), manager="one"))
    head = ("jobset.x-k8s.io/v1alpha2", "JobSet", namespace, "a")

    def condition(kind: str) -> JSONObject:
        time = "2026-01-01T00:00:00Z"
        rest = {"status": "True", "reason": "Done", "message": "", "lastTransitionTime": time}
        return {"type": kind, **rest}

    first = {"conditions": [condition("Suspended")], "restarts": 3}
    before = run_in_loop(client.patch_status(objects.of(*head, status=first), manager="two"))
    version = before["metadata"]["resourceVersion"]
    change = objects.of(*head, status={"conditions": [condition("Completed")]})
    change["metadata"]["resourceVersion"] = version
    merged = run_in_loop(client.merge_status(change, manager="three"))

    assert merged["status"]["restarts"] == 3
    assert merged["status"]["conditions"] == [condition("Completed")]
    assert {each[:3] for each in owners(merged)} == {
        ("one", "Apply", ""),
        ("two", "Apply", "status"),
        ("three", "Update", "status"),
    }
    with pytest.raises(Conflict):
        run_in_loop(client.merge_status(change, manager="three"))


def test_a_merged_finalizer_is_gone_and_what_is_left_out_stays(
    client: KubeClient, namespace: str
) -> None:
    runtime = objects.training_runtime(namespace)
    runtime["metadata"]["finalizers"] = ["example.com/one", "example.com/two"]
    stored = run_in_loop(client.create(runtime, manager="one"))

    def merged(*finalizers: str, version: str = "") -> JSONObject:
        metadata = {"name": "a", "namespace": namespace, "finalizers": list(finalizers) or None}
        metadata |= {"resourceVersion": version} if version else {}
        head = {"apiVersion": runtime["apiVersion"], "kind": runtime["kind"]}
        return run_in_loop(client.merge({**head, "metadata": metadata}, manager="two"))

    version = stored["metadata"]["resourceVersion"]
    changed = merged("example.com/two", version=version)
    assert changed["metadata"]["finalizers"] == ["example.com/two"]
    assert changed["spec"] == stored["spec"]
    assert changed["metadata"]["generation"] == stored["metadata"]["generation"]
    with pytest.raises(Conflict):
        merged(version=version)
    assert "finalizers" not in merged()["metadata"]
    gone = {**runtime, "metadata": {"name": "none", "namespace": namespace}}
    with pytest.raises(NotFound):
        run_in_loop(client.merge(gone, manager="two"))


def test_a_status_is_applied_to_a_version_and_to_any_uid(
    client: KubeClient, namespace: str
) -> None:
    run_in_loop(client.apply(objects.job_set(namespace), manager="m"))

    def applied(restarts: int, **metadata: str) -> JSONObject:
        value = {**objects.job_set(namespace), "status": {"restarts": restarts}}
        value["metadata"] |= metadata
        return run_in_loop(client.patch_status(value, manager="two"))

    assert applied(1, uid="00000000-0000-0000-0000-000000000000")["status"]["restarts"] == 1
    with pytest.raises(Conflict, match="the object has been modified"):
        applied(2, resourceVersion="1")
    version = run_in_loop(client.get(JOBSET, "a", namespace))["metadata"]["resourceVersion"]
    assert applied(3, resourceVersion=version)["status"]["restarts"] == 3


def test_a_status_among_the_rest_is_ignored(client: KubeClient, namespace: str) -> None:
    value = {**objects.job_set(namespace), "status": {"restarts": 3}}
    made = run_in_loop(client.apply(value, manager="m"))

    assert "restarts" not in made.get("status", {})


def test_what_the_status_endpoint_gets_of_the_rest_is_ignored(
    client: KubeClient, namespace: str
) -> None:
    run_in_loop(client.apply(objects.job_set(namespace), manager="m"))
    value = objects.job_set(namespace, "a", objects.replicated_job("other"))
    run_in_loop(client.patch_status({**value, "status": {"restarts": 3}}, manager="two"))

    found = run_in_loop(client.get(JOBSET, "a", namespace))
    assert [each["name"] for each in found["spec"]["replicatedJobs"]] == ["node"]
    assert found["status"]["restarts"] == 3


def test_owners_and_finalizers_of_two_managers_add_up(client: KubeClient, namespace: str) -> None:
    def applied(manager: str, uid: str) -> JSONObject:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": manager, "uid": uid}
        metadata = {"ownerReferences": [owner], "finalizers": [f"test.dev/{manager}"]}
        return run_in_loop(
            client.apply(objects.config_map(namespace, metadata=metadata), manager=manager)
        )

    applied("one", "1")
    both = applied("two", "2")["metadata"]
    assert [each["uid"] for each in both["ownerReferences"]] == ["1", "2"]
    assert both["finalizers"] == ["test.dev/one", "test.dev/two"]


def test_a_text_of_any_characters_arrives_as_it_was_sent(
    client: KubeClient, namespace: str
) -> None:
    """What is applied goes as YAML, in which fewer characters may stand than in JSON."""
    points = (*range(1, 0xD800), *range(0xE000, 0x10000), 0x10000, 0x1FFFE, 0x10FFFF)
    text = "".join(map(chr, points))
    edges = "a\x7fb\x80c\x85d\u2028e\u2029f\ufefbg\ufeffh\ufffei\uffffj"
    run_in_loop(
        client.apply(objects.config_map(namespace, data={"x": edges, "y": text}), manager="m")
    )

    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace))["data"] == {"x": edges, "y": text}
