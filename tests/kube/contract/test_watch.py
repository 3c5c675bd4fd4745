"""A watch tells each change once, in order, alike by every client."""

from collections.abc import Callable

import pytest

from tests.kube import objects
from tests.kube.changes import seen
from trainer_infra.kube.client import KubeClient, ObjectChange, ObjectSelection
from trainer_infra.kube.loop import iterate_in_loop, run_in_loop
from trainer_infra.kube.refusals import Expired
from trainer_infra.kube.resource import SECRET


def test_a_watch_begins_after_the_list(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.create(objects.secret(namespace, "before"), manager="m"))
    page = run_in_loop(client.list(ObjectSelection(SECRET, namespace)))
    changes = iterate_in_loop(
        client.watch(ObjectSelection(SECRET, namespace), page.resource_version)
    )
    run_in_loop(client.create(objects.secret(namespace, "a"), manager="m"))
    run_in_loop(client.apply(objects.secret(namespace, data={"x": "MQ=="}), manager="m"))
    run_in_loop(client.delete(SECRET, "a", namespace))

    assert seen(changes, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    changes.close()


def test_a_change_has_the_object_as_it_is_read(client: KubeClient, namespace: str) -> None:
    page = run_in_loop(client.list(ObjectSelection(SECRET, namespace)))
    changes = iterate_in_loop(
        client.watch(ObjectSelection(SECRET, namespace), page.resource_version)
    )
    made = run_in_loop(client.create(objects.secret(namespace), manager="m"))

    assert next(changes) == ObjectChange("ADDED", made)
    changes.close()


def test_what_is_deleted_has_the_version_of_its_deletion(
    client: KubeClient, namespace: str
) -> None:
    made = run_in_loop(client.create(objects.secret(namespace, data={"x": "MQ=="}), manager="m"))
    since = made["metadata"]["resourceVersion"]
    changes = iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace), since))
    run_in_loop(client.delete(SECRET, "a", namespace))
    change = next(changes)

    assert (change.type, change.value["data"]) == ("DELETED", {"x": "MQ=="})
    assert int(change.value["metadata"]["resourceVersion"]) > int(since)
    changes.close()


def test_a_watch_sees_objects_come_into_its_selection_and_leave_it(
    client: KubeClient, namespace: str
) -> None:
    def labelled(name: str, tier: str) -> None:
        value = objects.secret(namespace, name, metadata={"labels": {"tier": tier}})
        run_in_loop(client.apply(value, manager="m"))

    labelled("a", "db")
    page = run_in_loop(client.list(ObjectSelection(SECRET, namespace)))
    chosen = ObjectSelection(SECRET, namespace, labels="tier=web")
    changes = iterate_in_loop(client.watch(chosen, page.resource_version))
    labelled("a", "web")
    labelled("b", "db")
    labelled("a", "db")
    labelled("c", "web")

    assert seen(changes, 3) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "c")]
    changes.close()


def test_a_watch_of_one_name_sees_that_one_only(client: KubeClient, namespace: str) -> None:
    page = run_in_loop(client.list(ObjectSelection(SECRET, namespace)))
    chosen = ObjectSelection(SECRET, namespace, fields="metadata.name=b")
    changes = iterate_in_loop(client.watch(chosen, page.resource_version))
    for name in ("a", "b"):
        run_in_loop(client.create(objects.secret(namespace, name), manager="m"))

    assert seen(changes, 1) == [("ADDED", "b")]
    changes.close()


def test_a_bookmark_tells_where_a_watch_is_that_sees_nothing(
    client: KubeClient, namespace: str
) -> None:
    since = run_in_loop(client.list(ObjectSelection(SECRET, namespace))).resource_version
    changes = iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace, labels="a=b"), since))
    selected = objects.secret(namespace, "selected", metadata={"labels": {"a": "b"}})
    run_in_loop(client.create(selected, manager="m"))
    assert seen(changes, 1) == [("ADDED", "selected")]
    other = run_in_loop(client.create(objects.secret(namespace), manager="m"))
    bookmark = next(changes)

    assert bookmark.type == "BOOKMARK"
    there, passed = (each["metadata"]["resourceVersion"] for each in (bookmark.value, other))
    assert int(there) >= int(passed)
    changes.close()


def test_two_watches_see_the_same(client: KubeClient, namespace: str) -> None:
    since = run_in_loop(client.list(ObjectSelection(SECRET, namespace))).resource_version
    both = [
        iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace), since)) for _ in range(2)
    ]
    made = run_in_loop(client.create(objects.secret(namespace), manager="m"))

    assert [next(changes) for changes in both] == [ObjectChange("ADDED", made)] * 2
    for changes in both:
        changes.close()


def test_a_watch_of_nothing_yet_begins_with_what_is_there(
    client: KubeClient, namespace: str
) -> None:
    run_in_loop(client.create(objects.secret(namespace), manager="m"))
    changes = iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace), "0"))

    assert seen(changes, 1) == [("ADDED", "a")]
    changes.close()
    assert list(changes) == []


def test_a_watch_from_too_long_ago_has_expired(
    client: KubeClient, namespace: str, forget: Callable[[], None]
) -> None:
    since = run_in_loop(client.list(ObjectSelection(SECRET, namespace))).resource_version
    run_in_loop(client.create(objects.secret(namespace), manager="m"))
    forget()
    with pytest.raises(Expired) as refused:
        next(iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace), since)))

    assert refused.value.status == 410
    assert "too old resource version" in str(refused.value)
    page = run_in_loop(client.list(ObjectSelection(SECRET, namespace)))
    assert [each["metadata"]["name"] for each in page.items] == ["a"]
    changes = iterate_in_loop(
        client.watch(ObjectSelection(SECRET, namespace), page.resource_version)
    )
    run_in_loop(client.delete(SECRET, "a", namespace))
    assert seen(changes, 1) == [("DELETED", "a")]
    changes.close()
