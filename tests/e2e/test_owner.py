"""Whose a run is, on a real cluster: stacks of two backends in one namespace, and damaged records."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.engine.stack import EngineStack

RECORD = "digits-runtime-snapshot"
JOB = """
TrainJob("job", runtime="jax-distributed", name="digits", namespace=NS, suspend=True,
         trainer=on(), {more})
"""
BATCH = """
from trainer_infra import TrainJobs
TrainJobs("batch", {"a": {"runtime": "jax-distributed", "name": "a", "namespace": NS,
                          "suspend": True, "trainer": on()}})
"""


def program(more: str = "") -> str:
    return PROGRAM + JOB.format(more=more) + BATCH


@pytest.fixture
def pair(new_stack: Callable[[str], Stack], tmp_path: Path) -> tuple[Stack, Stack]:
    """Two colleagues: the same project and stack, a backend each."""
    first = new_stack("team")
    folder, backend = tmp_path / "colleague", tmp_path / "colleagues-backend"
    folder.mkdir()
    backend.mkdir()
    for name in ("Pulumi.yaml", "place.json"):
        (folder / name).write_text((first.folder / name).read_text())
    second = EngineStack(folder, {**first.env, "PULUMI_BACKEND_URL": f"file://{backend}"})
    second.run("stack", "init")
    (folder / "Pulumi.test.yaml").write_text((first.folder / "Pulumi.test.yaml").read_text())
    second.run("config", "set", "trainer:engine", "provider")
    return first, second


def uids(namespace: Namespace) -> dict[str, str]:
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in namespace.all("jobsets")}


def adopted(first: Stack, second: Stack, namespace: Namespace) -> dict[str, str]:
    """The UIDs of the first stack's runs, once the second has adopted the TrainJob."""
    first.program(program())
    first.up()
    kept = uids(namespace)
    second.program(PROGRAM + JOB.format(more="adopt=True"))
    second.up()
    return kept


@pytest.mark.parametrize("order", [pytest.param(1, marks=pytest.mark.soak), -1])
def test_stacks_of_two_backends_touch_nothing_of_one_another(
    pair: tuple[Stack, Stack], namespace: Namespace, order: int
) -> None:
    first, second = pair[::order]
    for each in pair:
        each.program(program())
    first.up()
    kept = uids(namespace)
    backend = first.job()["owner"]["backend"]

    refused = second.up(ok=False)
    assert f"{namespace.name}/digits exists and belongs to " in refused
    assert f"in backend {backend}; choose another name" in refused
    second.run("refresh", "--yes")
    listed = second.trainer("gc", "--stack", "test", "--yes")
    assert f"{namespace.name}/digits (Suspended, made in backend {backend}, this is" in listed
    assert "deleted" not in listed
    second.run("destroy", "--yes")

    assert uids(namespace) == kept
    first.run("refresh", "--yes", "--expect-no-changes")
    first.unchanged()
    first.run("destroy", "--yes")
    assert uids(namespace) == {}


@pytest.mark.soak
def test_a_run_that_was_adopted_is_gone_for_its_former_stack(
    pair: tuple[Stack, Stack], namespace: Namespace
) -> None:
    first, second = pair
    kept = adopted(first, second, namespace)
    theirs = f"in backend {second.job()['owner']['backend']} now"

    first.program(program('labels={"a": "b"}'))
    assert theirs in first.up(ok=False)
    gone = first.run("destroy", "--yes")
    assert f"run {namespace.name}/digits is left alone: it belongs to " in gone
    assert theirs in gone
    assert uids(namespace) == {"digits": kept["digits"]}
    second.run("refresh", "--yes", "--expect-no-changes")
    second.unchanged()


def test_a_refresh_says_whose_a_run_is_now_and_adopt_takes_it_back(
    pair: tuple[Stack, Stack], namespace: Namespace
) -> None:
    first, second = pair
    kept = adopted(first, second, namespace)
    said = first.run("refresh", "--yes")
    assert f"run {namespace.name}/digits belongs to " in said
    assert first.resources("trainer:TrainJob") == []
    first.program(program("adopt=True"))
    first.up()
    assert uids(namespace) == kept
    assert "is left alone" in second.run("destroy", "--yes")
    assert uids(namespace) == kept
    first.run("destroy", "--yes")
    assert uids(namespace) == {}


@pytest.mark.soak
def test_a_stack_that_is_renamed_keeps_its_runs(
    new_cli_stack: Callable[..., Stack], namespace: Namespace
) -> None:
    stack = new_cli_stack("team")
    stack.program(program())
    stack.up()
    kept = uids(namespace)
    stack.run("stack", "rename", "renamed")
    renamed = replace(stack, name="renamed")
    renamed.run("refresh", "--yes", "--expect-no-changes")
    renamed.unchanged()
    renamed.program(program('labels={"a": "b"}'))
    renamed.up()
    renamed.run("refresh", "--yes", "--expect-no-changes")
    assert uids(namespace) == kept
    labels = {
        each["metadata"]["name"]: each["metadata"]["labels"]["trainer-infra.dev/stack"]
        for each in namespace.all("jobsets")
    }
    assert labels == {"digits": "renamed", "a": "test"}
    renamed.run("destroy", "--yes")
    assert uids(namespace) == {}


def patched(namespace: Namespace, name: str, patch: dict[str, Any]) -> None:
    namespace.kubectl("patch", "configmap", name, "--type=merge", "-p", json.dumps(patch))


@pytest.mark.soak
def test_damaged_and_later_records_stop_nobody_and_can_be_destroyed(
    pair: tuple[Stack, Stack], namespace: Namespace
) -> None:
    stack, _ = pair
    stack.program(program())
    stack.up()
    later = {"annotations": {"trainer-infra.dev/format": "99", "trainer-infra.dev/later": "x"}}
    owner = {"project": "p", "stack": "s", "urn": "u"}
    patched(namespace, "a-runtime-snapshot", {"metadata": later, "data": {"later": "y"}})
    patched(namespace, RECORD, {"data": {"status": "{broken"}})
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "theirs",
            "labels": {"trainer-infra.dev/record": "true"},
            "annotations": {"trainer-infra.dev/owner": json.dumps(owner)},
        },
        "data": {"trainJob": "{}"},
    }
    namespace.kubectl("apply", "-f", "-", given=json.dumps(theirs))

    for listed in (
        stack.trainer("get", "-A"),
        stack.trainer("gc", "--stack", "test", "--yes"),
    ):
        for name in (RECORD, "theirs"):
            assert f"warning: ConfigMap {namespace.name}/{name} should be the record" in listed
    assert " a " in stack.trainer("get", "-n", namespace.name)
    one = stack.trainer("get", "digits", "-n", namespace.name, ok=False)
    assert "data.status: is not JSON, got '{broken'" in one
    assert len(one.splitlines()) == 1
    assert "digits stays as it was last seen: ConfigMap " in stack.run("refresh", "--yes")
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert uids(namespace) == {}
    left = set(namespace.names("configmaps")) - {"kube-root-ca.crt"}
    assert "theirs" in left
    assert RECORD not in left
