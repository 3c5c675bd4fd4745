"""Admission reviews of every kind of damage: a seed is the same review forever.

A hundred thousand of them take minutes; strategies of hypothesis, which think long about each value,
would take hours.
"""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tests.controller.reviews import TORCH, UID, patched, trainjob
from tests.parity import generator

JSON = dict[str, Any]

SCALARS: Final = (
    *(None, True, False, 0, 1, -1, "", "a", "x" * 5000, "null", "\x00", "\ud800", "ü", "1"),
    *(2**31, 2**31 - 1, -(2**63), 2**64, 10**400, 1.5, -0.0, 1e308),
    *(float("nan"), float("inf"), "2026-13-99T99:99:99Z", "2026-01-01T00:00:00Z", "u-1"),
)
DEEP: Final = b'"as deep as the seed says"'
"""Stands for a list in a list and so on: Python writes none that is deeper than its stack."""
OPERATIONS: Final = ("CREATE", "CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE", "CONNECT")
CHANGES: Final = ("remove", "replace", "replace", "deep", "add")
JOBS: Final = (
    trainjob(),
    trainjob({"suspend": True, "runtimePatches": [patched(nodeSelector={"a": "b"})]}),
    trainjob({"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"cpu": 1}}}}),
)
OBJECTS: Final = (
    *JOBS,
    trainjob(deletionTimestamp="2026-01-01T00:00:00Z"),
    TORCH,
    {**TORCH, "kind": "TrainingRuntime"},
)


def damaged(seed: int) -> bytes:
    """A review with up to three changes anywhere, and perhaps bytes that are not JSON."""
    random = Random(seed)
    operation = random.choice(OPERATIONS)
    request: JSON = {
        "uid": UID,
        "operation": operation,
        "namespace": "default",
        "object": _object(random),
        "oldObject": _object(random) if operation == "UPDATE" else None,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    for _ in range(random.randrange(4)):
        whole = random.random() < 0.05 or not request
        change(random, review if whole else request)
    text = json.dumps(review, ensure_ascii=False).encode("utf-8", "surrogatepass")
    depth = random.randrange(1, 3000)
    return _broken(random, text.replace(DEEP, b"[" * depth + b"]" * depth))


def damaged_job(seed: int) -> JSON:
    """A TrainJob with up to two changes in its spec, as a user may send it."""
    random = Random(seed)
    job: JSON = {**copy.deepcopy(random.choice(JOBS)), "metadata": {"name": "damaged"}}
    for _ in range(random.randrange(3)):
        if isinstance(job["spec"], dict) and job["spec"]:
            change(random, job["spec"])
    found: JSON = json.loads(json.dumps(job).replace(DEEP.decode(), "[" * 50 + "]" * 50))
    return found


def nested(depth: int) -> Any:
    """A list in a list, as often as asked."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def change(random: Random, root: JSON) -> None:
    """One change below: a field gone, another value, a new field."""
    *path, last = random.choice([*places(root)])
    within: Any = root
    for key in path:
        within = within[key]
    kind = random.choice(CHANGES)
    if kind == "remove":
        del within[last]
    elif kind == "add" and isinstance(within, dict):
        within[random.choice(("", "a", "time", "spec", "status", "\ud800"))] = value(random)
    else:
        within[last] = json.loads(DEEP) if kind == "deep" else value(random)


def places(root: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value can be changed: every field and every item."""
    items = root.items() if isinstance(root, dict) else enumerate(root)
    for key, each in items:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from places(each, (*path, key))


def value(random: Random, depth: int = 0) -> Any:
    """Any JSON value, and what is only nearly one."""
    kind = random.random()
    if kind < 0.6 or depth > 3:
        return random.choice(SCALARS)
    inner = [value(random, depth + 1) for _ in range(random.randrange(4))]
    if kind < 0.8:
        return inner
    return {random.choice(("name", "a", "limits", "")) + str(i): x for i, x in enumerate(inner)}


def _object(random: Random) -> JSON:
    """One of a few, or one that the comparison with the reference has."""
    if random.random() < 0.7:
        return copy.deepcopy(random.choice(OBJECTS))
    case = generator.case(random.randrange(10_000))
    return random.choice((case.train_job, case.train_job, case.runtime))


def _broken(random: Random, text: bytes) -> bytes:
    """The text as it is, cut, or with bytes in it; or something else."""
    how = random.random()
    position = random.randrange(len(text) + 1)
    if how < 0.9:
        return text
    if how < 0.93:
        return text[:position]
    noise = random.randbytes(random.randrange(1, 7))
    return noise * 20 if how < 0.94 else text[:position] + noise + text[position:]
