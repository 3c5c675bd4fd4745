"""ConfigMaps that should be records and are none, or of another release: the others go on."""

import asyncio
import copy
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cluster.in_memory import Small
from tests.cluster.submissions import OTHER, OWNER, Job
from trainer_infra import names
from trainer_infra.cli import get
from trainer_infra.cluster import (
    adopt,
    delete,
    record_fields,
    repair,
    run_lookup,
    submit,
    suspend,
)
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.errors import Unreadable
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP
from trainer_infra.runs.run import Contents, Failure, Node, Owner, Run, RunKey, run_to_json

RECORD = "tj-runtime-snapshot"

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
TEXTS = st.text(max_size=12) | VALUES.map(json.dumps) | st.just('{"phase":"Complete"')


async def stored(cluster: Small, value: Any) -> None:
    """Put a ConfigMap in the place of the one of that name, as somebody with `kubectl replace`."""
    metadata = value["metadata"]
    with suppress(NotFound):
        await cluster.client.delete(CONFIG_MAP, metadata["name"], metadata["namespace"])
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations")}
    await cluster.client.create({**value, "metadata": kept}, manager="kubectl")


def damaged(record: Any, place: str, text: str) -> Any:
    """The record with another text, or with none, in one of its places."""
    changed = copy.deepcopy(record)
    part = changed["data"] if place in changed["data"] else changed["metadata"]["annotations"]
    part[place] = text
    return changed


PLACES = (
    names.RECORD_JOB_KEY,
    names.RECORD_OBJECTS_KEY,
    names.RECORD_STATUS_KEY,
    names.SNAPSHOT_KEY,
    names.OWNER_ANNOTATION,
    names.BACKEND_ANNOTATION,
    names.FORMAT_ANNOTATION,
    names.PLUGINS_ANNOTATION,
    names.CONTENT_ANNOTATION,
)


async def with_two_runs(place: str, text: str) -> tuple[Small, str]:
    """A cluster with a sound run `sound` and the damaged one `tj`, and the latter's uid."""
    cluster = Small()
    await cluster.submit()
    await submit.submit_run(cluster.client, RECORDS, Job("default", name="sound").submission())
    record = await cluster.client.get(CONFIG_MAP, RECORD, "default")
    await stored(cluster, damaged(record, place, text))
    found = await cluster.client.get(CONFIG_MAP, RECORD, "default")
    return cluster, found["metadata"]["uid"]


async def looked_at(place: str, text: str) -> None:
    cluster, uid = await with_two_runs(place, text)
    listing = await run_lookup.at_all(cluster.session, "")
    assert listing.runs[0].name == "sound"
    assert len(listing.runs[1:]) + len(listing.unread) == 1
    key = RunKey("default", "tj", uid)
    with suppress(Unreadable):
        await run_lookup.at_one(cluster.session, key)
    assert await delete.delete_run(cluster.client, RECORDS, key, 5) == ""
    with pytest.raises(NotFound):
        await cluster.client.get(CONFIG_MAP, RECORD, "default")


# Found only when the run is shown, after the record was read.
LATE = '{"metadata": {"name": "tj"}, "spec": {"runtimeRef": {"name": 3}}}'


@settings(max_examples=40)
@given(st.sampled_from(PLACES), TEXTS)
@example(names.RECORD_JOB_KEY, LATE)
def test_whatever_stands_in_a_record_the_others_are_seen_and_it_can_be_deleted(
    place: str, text: str
) -> None:
    asyncio.run(looked_at(place, text))


STATUS = run_to_json(
    Run(
        *("default", "tj", "u", "memory", OWNER, "c1", "2026-11-21T12:00:00Z", "Complete"),
        status={
            "conditions": [
                {
                    "type": "Complete",
                    "status": "True",
                    "reason": "r",
                    "message": "m",
                    "lastTransitionTime": "2026-11-21T12:00:00Z",
                }
            ],
            "trainerStatus": {"metrics": [{"name": "loss", "value": "1"}]},
        },
        nodes=(Node("tj-node-0-0-abcde"),),
        failure=Failure("tj-node-0-0-abcde"),
    )
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    if not isinstance(value, dict | list):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(each for key, item in items for each in paths(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The JSON value with another one in a place."""
    if not path:
        return new
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return changed


PLAIN_STATUS = json.loads(json.dumps(STATUS))


async def shown(text: str) -> None:
    cluster, _ = await with_two_runs(names.RECORD_STATUS_KEY, text)
    listing = await run_lookup.at_all(cluster.session, "")
    assert len(listing.runs) + len(listing.unread) == 2
    for run in listing.runs:
        assert list(get.run_details(run))


@settings(max_examples=40)
@given(st.sampled_from(paths(PLAIN_STATUS)), VALUES)
def test_whatever_stands_in_a_status_people_are_shown_the_run_or_why_not(
    path: tuple[Any, ...], value: Any
) -> None:
    asyncio.run(shown(json.dumps(put(PLAIN_STATUS, path, value))))


SAID = [
    (names.RECORD_STATUS_KEY, "{broken", "data.status: is not JSON, got '{broken'"),
    (names.RECORD_STATUS_KEY, "[]", "data.status: is not an object, got []"),
    (
        names.RECORD_JOB_KEY,
        "{}",
        "data.trainJob: metadata: is not an object, got None",
    ),
    (
        names.RECORD_JOB_KEY,
        '{"metadata":{"name":"a"},"spec":{}}',
        "data.trainJob: metadata.name: is not that of this record, got 'a'",
    ),
    (names.RECORD_OBJECTS_KEY, "[1]", "data.objects[0]: is not an object, got 1"),
    (
        names.OWNER_ANNOTATION,
        '{"stack":1}',
        "metadata.annotations[trainer-infra.dev/owner]: stack: input should be a valid string",
    ),
    (
        names.FORMAT_ANNOTATION,
        "new",
        "metadata.annotations[trainer-infra.dev/format]: is not a number, got 'new'",
    ),
]


@pytest.mark.parametrize(("place", "text", "why"), SAID)
def test_what_cannot_be_read_is_one_sentence_with_its_place(
    place: str, text: str, why: str
) -> None:
    async def asked() -> None:
        cluster, uid = await with_two_runs(place, text)
        sentence = (
            f"ConfigMap default/{RECORD} should be the record of a run and cannot be read: {why}; "
            "write it again as it was, or delete it, and with it what is left of the run"
        )
        assert (await run_lookup.at_all(cluster.session, "")).unread == (sentence,)
        with pytest.raises(Unreadable) as error:
            await run_lookup.at_one(cluster.session, RunKey("default", "tj", uid))
        assert str(error.value) == sentence
        assert await run_lookup.at_one(cluster.session, RunKey("default", "tj", "another")) is None

    asyncio.run(asked())


def test_a_strangers_config_map_with_our_label_is_skipped_aloud() -> None:
    async def asked() -> None:
        cluster = Small()
        await cluster.submit()
        metadata = {
            "name": "theirs",
            "namespace": "default",
            "labels": {names.RECORD_LABEL: "true"},
        }
        theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await cluster.client.create(theirs, manager="kubectl")
        listing = await run_lookup.at_all(cluster.session, "")
        assert [each.name for each in listing.runs] == ["tj"]
        (said,) = listing.unread
        assert said.startswith("ConfigMap default/theirs should be the record of a run")
        assert "data.trainJob: is missing" in said

    asyncio.run(asked())


@pytest.mark.parametrize(
    ("owner", "goes"), [(OWNER, True), (replace(OWNER, backend="file:a"), True), (OTHER, False)]
)
@pytest.mark.parametrize(
    ("place", "text"), [(names.RECORD_STATUS_KEY, "{"), (names.OWNER_ANNOTATION, "{")]
)
def test_a_damaged_run_is_deleted_by_its_owner_alone(
    place: str, text: str, owner: Owner, goes: bool
) -> None:
    async def asked() -> None:
        cluster, uid = await with_two_runs(place, text)
        said = await delete.delete_run(
            cluster.client, RECORDS, RunKey("default", "tj", uid, owner), 5
        )
        assert ("is left alone" in said) != goes
        there = (await cluster.client.list(ObjectSelection(CONFIG_MAP, "default"))).items
        assert (RECORD in {each["metadata"]["name"] for each in there}) != goes

    asyncio.run(asked())


async def of_a_later_release(cluster: Small) -> Any:
    """Make of the run's record one with more in every place, and a higher format."""
    record = await cluster.client.get(CONFIG_MAP, RECORD, "default")
    data, notes = record["data"], record["metadata"]["annotations"]
    job = json.loads(data["trainJob"])
    job["spec"] |= {"later": 1}
    job["metadata"] |= {"later": 1}
    owner = json.loads(notes[names.OWNER_ANNOTATION]) | {"organization": "acme"}
    status = json.loads(data["status"]) | {"later": [1]}
    more = {
        **data,
        "trainJob": json.dumps(job),
        "status": json.dumps(status),
        "later": "kept",
    }
    added = {
        **notes,
        names.OWNER_ANNOTATION: json.dumps(owner),
        names.FORMAT_ANNOTATION: "9",
        "trainer-infra.dev/later": "kept",
    }
    metadata = {"name": RECORD, "namespace": "default", "uid": record["metadata"]["uid"]}
    labels = record["metadata"]["labels"]
    whole = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**metadata, "labels": labels, "annotations": added},
        "data": {key: each for key, each in more.items() if key != "status"},
    }
    await cluster.client.apply(whole, manager=names.FIELD_MANAGER, force=True)
    of_status = {**whole, "metadata": metadata, "data": {"status": more["status"]}}
    await cluster.client.apply(of_status, manager=names.STATUS_MANAGER, force=True)


def test_a_record_of_a_later_release_is_read_as_far_as_it_is_known_and_loses_nothing() -> None:
    async def asked() -> None:
        cluster = Small()
        first = await cluster.submit()
        await of_a_later_release(cluster)
        await cluster.runs()
        running = await cluster.now()
        assert (running.uid, running.phase, running.owner) == (first.uid, "Running", OWNER)
        key = RunKey("default", "tj", first.uid, OWNER)
        await suspend.suspend_run(cluster.client, RECORDS, key, value=True)
        await repair.repair_run(cluster.client, RECORDS, key, Contents())
        record = await RECORDS.present_record(cluster.client, key)
        await adopt.give_owner(cluster.client, RECORDS, record, OTHER, Contents())
        await cluster.exits(0)
        await cluster.ends("Completed")
        assert (await cluster.now()).phase == "Complete"
        again = await cluster.now()
        assert (again.phase, again.owner) == ("Complete", OTHER)
        value = await cluster.client.get(CONFIG_MAP, RECORD, "default")
        data, notes = value["data"], value["metadata"]["annotations"]
        assert (data["later"], notes["trainer-infra.dev/later"]) == ("kept", "kept")
        assert notes[names.FORMAT_ANNOTATION] == "9"
        assert json.loads(data["trainJob"])["spec"]["later"] == 1
        assert json.loads(data["status"])["later"] == [1]

    asyncio.run(asked())


def test_a_record_of_an_earlier_release_is_read_and_says_its_format_once_it_is_written() -> None:
    async def asked() -> None:
        cluster, wanted = Small(), Job("default").submission()
        begun = RECORDS.parts(wanted).holder
        notes = {**begun["metadata"]["annotations"]}
        assert notes.pop(names.FORMAT_ANNOTATION) == str(record_fields.FORMAT)
        del notes[names.BACKEND_ANNOTATION]
        earlier = {**begun, "metadata": {**begun["metadata"], "annotations": notes}}
        made = await cluster.client.create(earlier, manager=names.FIELD_MANAGER)
        assert (await cluster.submit()).uid == made["metadata"]["uid"]
        known = await RECORDS.present_record(cluster.client, RunKey("default", "tj"))
        assert known.value["metadata"]["annotations"] == notes
        after = await adopt.give_owner(cluster.client, RECORDS, known, OTHER, Contents())
        assert after.value["metadata"]["annotations"][names.FORMAT_ANNOTATION] == "2"

    asyncio.run(asked())
