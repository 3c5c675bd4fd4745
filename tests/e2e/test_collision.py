"""Objects of other people under a run's names, on a cluster where JobSet runs."""

import json
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace

JOB = """
trainer = CustomTrainer(train, image="none", env={{"TOKEN": Secret("planted-value")}})
TrainJob("job", runtime="torch-distributed", name="digits", namespace=NS, suspend=True,
         trainer=trainer, adopt={adopt})
"""


@pytest.fixture
def image() -> str:
    """No pod runs here."""
    return "none"


@pytest.fixture
def stack(new_stack: Callable[[str], Stack]) -> Stack:
    return new_stack("collision")


def program(*, adopt: bool) -> str:
    return PROGRAM + dedent(JOB.format(adopt=adopt))


def theirs(kind: str) -> dict[str, Any]:
    """An object that another team applied."""
    if kind == "Secret":
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "digits-secret"}}
    head = {"kind": kind, "metadata": {"name": "digits"}}
    if kind == "Service":
        return {**head, "apiVersion": "v1", "spec": {"ports": [{"port": 80}]}}
    container = {"name": "c", "image": "none"}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"name": "other", "template": {"spec": {"template": {"spec": pod}}}}
    spec = {"replicatedJobs": [job], "suspend": True}
    return {**head, "apiVersion": "jobset.x-k8s.io/v1alpha2", "spec": spec}


@pytest.mark.parametrize(
    ("kind", "adopt"),
    [
        pytest.param("Service", False, marks=pytest.mark.soak),
        pytest.param("Secret", True, marks=pytest.mark.soak),
        ("JobSet", True),
    ],
)
def test_an_object_of_another_team_is_named_and_outlives_up_and_destroy(
    stack: Stack, namespace: Namespace, kind: str, adopt: bool
) -> None:
    value = theirs(kind)
    name = value["metadata"]["name"]
    namespace.kubectl("apply", "-f", "-", given=json.dumps(value))
    (before,) = [each for each in namespace.all(kind) if each["metadata"]["name"] == name]
    stack.program(program(adopt=adopt))
    shown = stack.up(ok=False)

    (line,) = {each.strip() for each in shown.splitlines() if "exists and belongs to" in each}
    assert f"{kind} {namespace.name}/{name} exists and belongs to" in line
    assert "choose another name" in line
    assert len(line) < 500
    assert "planted-value" not in shown
    assert namespace.names("configmaps") == ["kube-root-ca.crt"]
    stack.run("destroy", "--yes")
    (after,) = [each for each in namespace.all(kind) if each["metadata"]["name"] == name]
    assert (after["metadata"]["uid"], after.get("spec")) == (
        before["metadata"]["uid"],
        before.get("spec"),
    )
    assert namespace.names("jobsets") == (["digits"] if kind == "JobSet" else [])

    namespace.kubectl("delete", kind, name)
    stack.up()
    assert namespace.names("jobsets") == ["digits"]
    stack.run("destroy", "--yes")
