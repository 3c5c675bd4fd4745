"""Admission reviews of every kind of damage, as strategies of hypothesis."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.controller.reviews import TORCH, UID, patched, trainjob
from tests.render import any_object

JSON = dict[str, Any]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**31, -(2**63), 2**64, 10**400, 1e308, float("nan"), float("inf"), -0.0]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "\x00", "\ud800", "null", "2026-13-99T99:99:99Z", "u-1", "a" * 5000]),
)
DEEP = b'"as deep as hypothesis says"'
"""Stands for a list in a list and so on: Python writes none that is deeper than its stack."""
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
JOBS = (
    trainjob(),
    trainjob({"suspend": True, "runtimePatches": [patched(nodeSelector={"a": "b"})]}),
    trainjob({"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"cpu": 1}}}}),
)
KNOWN = st.sampled_from(
    [
        *JOBS,
        trainjob(deletionTimestamp="2026-01-01T00:00:00Z"),
        TORCH,
        {**TORCH, "kind": "TrainingRuntime"},
    ]
)
OBJECTS = st.one_of(*[KNOWN] * 8, any_object.train_jobs(), any_object.runtimes())
"""Hypothesis thinks long about any object; most damage is the same to one of a few."""


def nested(depth: int) -> Any:
    """A list in a list, as often as asked."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value can be changed: every field and every item."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from places(each, (*path, key))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A review with up to three changes anywhere, and perhaps bytes that are not JSON."""
    operation = draw(st.sampled_from(["CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE", "CONNECT"]))
    old = draw(OBJECTS) if operation == "UPDATE" else None
    request = {
        "uid": UID,
        "operation": operation,
        "namespace": "default",
        "object": draw(OBJECTS),
        "oldObject": old,
    }
    review: JSON = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": copy.deepcopy(request),
    }
    for _ in range(draw(st.integers(0, 3))):
        change(draw, review)
    text = json.dumps(review, ensure_ascii=False).encode("utf-8", "surrogatepass")
    depth = draw(st.integers(1, 3000))
    return broken(draw, text.replace(DEEP, b"[" * depth + b"]" * depth))


@st.composite
def damaged_jobs(draw: st.DrawFn) -> JSON:
    """A TrainJob with up to two changes in its spec, as a user may send it."""
    job: JSON = {**copy.deepcopy(draw(st.sampled_from(JOBS))), "metadata": {"name": "damaged"}}
    for _ in range(draw(st.integers(0, 2))):
        spec = job["spec"]
        change(draw, {"request": spec} if isinstance(spec, dict) and spec else job)
    text = json.dumps(job).replace(DEEP.decode(), "[" * 50 + "]" * 50)
    found: JSON = json.loads(text)
    return found


def change(draw: st.DrawFn, review: JSON) -> None:
    """One change: a field gone, another value, a new field."""
    request = review.get("request")
    roots = [request] * 9 if isinstance(request, dict) and request else []
    within: Any = draw(st.sampled_from([*roots, review]))
    *path, last = draw(st.sampled_from([*places(within)]))
    for key in path:
        within = within[key]
    kind = draw(st.sampled_from(["remove", "replace", "replace", "deep", "add"]))
    if kind == "remove":
        del within[last]
    elif kind == "add" and isinstance(within, dict):
        within[draw(st.text(max_size=10))] = draw(VALUES)
    else:
        within[last] = json.loads(DEEP) if kind == "deep" else draw(VALUES)


def broken(draw: st.DrawFn, text: bytes) -> bytes:
    """The text as it is, cut, or with bytes in it; or something else."""
    how = draw(st.sampled_from(["whole"] * 20 + ["cut", "bytes", "other"]))
    position = draw(st.integers(0, len(text)))
    if how == "cut":
        return text[:position]
    if how == "bytes":
        return text[:position] + draw(st.binary(min_size=1, max_size=6)) + text[position:]
    return draw(st.binary(max_size=200)) if how == "other" else text
