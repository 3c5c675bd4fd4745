"""The newest version of an object stays, in whatever order its versions come."""

import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.controller import projection
from trainer_infra.controller.informer import ObjectCache, ObjectKey

KEY = ObjectKey("n", "a")


def value(version: int, name: str = "a", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "K", "metadata": metadata, **more}


def cache() -> ObjectCache:
    return ObjectCache(projection.without_managers)


@given(st.permutations(range(1, 7)), st.integers(0, 7))
def test_the_newest_of_versions_and_of_a_deletion_counts(order: list[int], gone: int) -> None:
    kept = cache()
    for version in order:
        if version == gone:
            kept.remove(value(version))
        else:
            kept.put(value(version, spec=version))

    found = kept.get(KEY)
    if gone == max(order):
        assert found is None
    else:
        assert found is not None
        assert found["spec"] == max(order)


def test_what_a_whole_list_lacks_goes_unless_it_is_newer_than_the_list() -> None:
    kept = cache()
    for version, name in ((3, "a"), (4, "b"), (9, "made-since")):
        kept.put(value(version, name))

    assert kept.keep_only([ObjectKey("n", "a")], version=7) == [ObjectKey("n", "b")]
    assert sorted(kept) == [ObjectKey("n", "a"), ObjectKey("n", "made-since")]


def test_the_late_answer_to_a_write_does_not_bring_back_what_a_whole_list_lacks() -> None:
    kept = cache()
    kept.put(value(4, "b"))
    kept.keep_only([], version=7)
    assert not kept.put(value(6, "b"))
    assert kept.put(value(8, "b"))


def test_the_same_version_is_no_news_and_what_comes_out_is_the_callers() -> None:
    kept = cache()
    assert kept.put(value(1, spec={"x": 1}))
    assert not kept.put(value(1, spec={"x": 1}))
    found: Any = kept.get(KEY)
    found["spec"]["x"] = 2
    again: Any = kept.get(KEY)
    assert again["spec"] == {"x": 1}


def test_of_a_jobset_only_what_decides_is_kept() -> None:
    owners = [{"uid": "1", "controller": True}, {"uid": "2"}]
    whole = value(1, spec={"suspend": True, "replicatedJobs": [{}]}, status={"restarts": 1})
    whole["metadata"] |= {"ownerReferences": owners, "labels": {"a": "b"}, "uid": "u"}
    kept: Any = projection.of_job_set(whole)

    assert kept["spec"] == {"suspend": True}
    assert kept["status"] == {}
    assert kept["metadata"] == {
        "name": "a",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "1",
        "ownerReferences": owners[:1],
    }


def test_a_small_object_takes_little_memory() -> None:
    kept = cache()
    tracemalloc.start()
    try:
        for number in range(1_000):
            kept.put(value(number, f"job-{number}", spec="x" * 400))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 2_000 * len(kept)
