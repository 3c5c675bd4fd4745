"""Our CRDs on a real API server: the last object that fits and the first that does not."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from from_source.cluster import crds
from from_source.cluster.client import DRY_RUN, STRICT, Client
from tests.apiserver import runtime_limits, trainjob_limits
from tests.apiserver.boundaries import IMMUTABLE, Limits, Row
from trainer_infra.api import crd
from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.shape import schema

JSON = dict[str, Any]

ALL = (trainjob_limits.TRAIN_JOB, runtime_limits.TRAINING_RUNTIME)
LIMITS = [(limits, row) for limits in ALL for row in limits.rows if row.keyword != IMMUTABLE]
CHANGES = [(limits, row) for limits in ALL for row in limits.rows if row.keyword == IMMUTABLE]
HEAD = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}
KEYWORDS = (
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "minimum",
    "maximum",
    "enum",
    "pattern",
    "minProperties",
)


def named(value: object) -> str | None:
    if isinstance(value, Row):
        return re.sub(r"^.*replicatedJobs|template.spec.template.spec", "..", value.path)
    return value.kind if isinstance(value, Limits) else None


def collection(kind: str) -> str:
    (definition,) = crd.crd_definitions((kind,))
    return crds.collection(definition, "default")


@pytest.fixture(scope="module")
def stored(server: Client) -> Iterator[JSON]:
    """A TrainJob in the server, whose status can be written."""
    path = collection("TrainJob")
    spec = {"runtimeRef": {"name": "torch-distributed"}}
    answer = server.create(path, {"metadata": {"name": "stored"}, "spec": spec} | HEAD)
    assert answer.message == ""
    yield answer.body
    server.delete(f"{path}/stored")


def judged(server: Client, item: JSON, stored: JSON) -> str:
    """What the server has against an object; a status it takes through a subresource only."""
    path = collection(item["kind"])
    if "status" not in item:
        return server.create(path, item, **STRICT, **DRY_RUN).message
    item = stored | {"status": item["status"]}
    return server.replace(f"{path}/stored/status", item, **STRICT, **DRY_RUN).message


@pytest.mark.parametrize(("limits", "row"), LIMITS, ids=named)
def test_the_server_and_we_accept_up_to_a_limit_and_no_further(
    server: Client, stored: JSON, limits: Limits, row: Row
) -> None:
    good, bad = (limits.whole(row, value) for value in (row.accepted, row.refused))
    assert judged(server, good, stored) == ""
    assert row.message in judged(server, bad, stored)
    assert schema.schema_findings(good, limits.kind) == ()
    assert schema.schema_findings(bad, limits.kind) != ()


@pytest.mark.parametrize(("limits", "row"), CHANGES, ids=named)
def test_a_field_that_is_set_keeps_its_value(server: Client, limits: Limits, row: Row) -> None:
    path = collection(limits.kind)
    before, after = (limits.whole(row, value) for value in (row.accepted, row.refused))
    stored = server.create(path, before, **STRICT)
    assert stored.message == ""
    version = {"resourceVersion": stored.body["metadata"]["resourceVersion"]}
    same, other = (
        each | {"metadata": {"name": "boundary", "labels": {"team": "a"}} | version}
        for each in (before, after)
    )
    try:
        assert server.replace(f"{path}/boundary", same, **DRY_RUN).message == ""
        assert row.message in server.replace(f"{path}/boundary", other, **DRY_RUN).message
    finally:
        server.delete(f"{path}/boundary")


def test_every_limit_of_our_own_fields_has_a_row() -> None:
    assert (
        limits_of("TrainJob", trainjob_limits.CORE)
        == {f"{row.path} {row.keyword}" for row in trainjob_limits.TRAIN_JOB.rows}
        | trainjob_limits.UNREACHABLE
    )
    assert limits_of("TrainingRuntime", runtime_limits.CORE) == {
        f"{row.path} {row.keyword}" for row in runtime_limits.TRAINING_RUNTIME.rows
    }


def test_a_number_that_is_too_wide_for_its_type_is_found_here_already(server: Client) -> None:
    """The server lets it in, and then no controller can read the object."""
    row = Row("spec.trainer.numNodes", "", 2**31 - 1, 2**31, "")
    good, bad = (
        trainjob_limits.TRAIN_JOB.whole(row, value) for value in (row.accepted, row.refused)
    )
    path = collection("TrainJob")
    assert [server.create(path, each, **DRY_RUN).message for each in (good, bad)] == ["", ""]
    assert schema.schema_findings(good, "TrainJob") == ()
    assert schema.schema_findings(bad, "TrainJob") == (
        FieldFinding(("spec", "trainer", "numNodes"), "must be at most 2147483647", 2**31),
    )


def test_both_kinds_of_runtime_have_the_same_limits() -> None:
    assert limits_of("ClusterTrainingRuntime", ()) == limits_of("TrainingRuntime", ())


def limits_of(kind: str, core: tuple[str, ...]) -> set[str]:
    """Every limit and rule of a kind's CRD, except below the paths in `core`."""
    (definition,) = crd.crd_definitions((kind,))
    whole = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return {
        f"{path} {keyword}" for path, keyword in _limits(whole, "") if not path.startswith(core)
    }


def _limits(node: JSON, path: str) -> Iterator[tuple[str, str]]:
    yield from ((path, keyword) for keyword in KEYWORDS if keyword in node)
    if node.get("format") == "date-time":
        yield path, "format"
    yield from ((path, each["rule"]) for each in node.get("x-kubernetes-validations", ()))
    yield from ((f"{path}.{name}".lstrip("."), "required") for name in node.get("required", ()))
    if node.get("x-kubernetes-list-type") in {"map", "set"}:
        yield path, "unique"
    for name, field in node.get("properties", {}).items():
        yield from _limits(field, f"{path}.{name}".lstrip("."))
    for below in ("items", "additionalProperties"):
        if isinstance(node.get(below), dict):
            yield from _limits(node[below], f"{path}[]")
