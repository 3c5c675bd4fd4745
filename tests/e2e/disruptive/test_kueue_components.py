"""Queues that a Pulumi program makes: a job waits for quota, gets it by a change, and all of it goes again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import kueue
from tests.deploy.project import Stack, new_cli_stack
from tests.e2e.cluster import Namespace
from tests.e2e.disruptive.queues import Queues
from tests.e2e.jobs import eventually

PROGRAM = """
from trainer_infra import platform

flavor = platform.ResourceFlavor("plain", name=f"{NS}-plain")
org = platform.Cohort("org", name=f"{NS}-org")
queue = platform.ClusterQueue("all", name=f"{NS}-all", cohort=org, quota={flavor: {"cpu": CPU}})
platform.LocalQueue("team", namespace=NS, cluster_queue=queue)
platform.WorkloadPriorityClass("high", name=f"{NS}-high", value=1000)
"""


@pytest.fixture
def stack(
    tmp_path: Path, pulumi_env: dict[str, str], installed: Path, namespace: Namespace
) -> Iterator[Stack]:
    namespace.kubectl("label", "namespace", namespace.name, f"{kueue.LABEL}=true")
    made = new_cli_stack(tmp_path / "queues", {**pulumi_env, "KUBECONFIG": str(installed)})
    yield made
    made.run("destroy", "--yes", "--skip-preview")


def write(stack: Stack, namespace: Namespace, cpu: str) -> None:
    text = f"NS, CPU = {namespace.name!r}, {cpu!r}\n{PROGRAM}"
    (stack.folder / "__main__.py").write_text(text)


def test_queues_are_made_changed_under_a_job_and_taken_away(
    stack: Stack, namespace: Namespace
) -> None:
    write(stack, namespace, "150m")
    stack.up()
    stack.unchanged()
    queues = Queues(namespace)
    queues.occupant("runs")
    eventually(lambda: queues.runs("runs"))
    queues.occupant("waits", f"{namespace.name}-high")
    eventually(lambda: "insufficient" in str(queues.workload("waits").get("status")))
    assert not queues.runs("waits")

    write(stack, namespace, "300m")
    assert "~ 1 updated" in stack.up()
    eventually(lambda: queues.runs("waits"))
    assert queues.runs("runs")

    namespace.kubectl("delete", "jobsets", "--all")
    stack.run("destroy", "--yes", "--skip-preview")
    assert stack.resources("") == []
    for kind in ("localqueues", "clusterqueues", "cohorts", "resourceflavors"):
        assert [each for each in namespace.names(kind) if namespace.name in each] == []
