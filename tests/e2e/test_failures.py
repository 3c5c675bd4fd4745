"""What goes wrong in pods: named in the error, soon after the cluster knows it."""

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG, eventually

JOB = """
def hungry():
    return len(b"x" * (1 << 30))

TrainJob("job", runtime=tried_once("jax-distributed"), namespace=NS, wait_for="complete",
         trainer={trainer})
"""


def told(stack: Stack, trainer: str, known: Callable[[], Any]) -> str:
    """What a failing `up` prints, which ends once the cluster knows why."""
    stack.program(PROGRAM + dedent(JOB.format(trainer=trainer)))
    with stack.start("up", "--yes", "--skip-preview") as process:
        eventually(known)
        shown, _ = process.communicate(timeout=LONG)
    assert process.returncode != 0, shown
    assert "Traceback" not in shown
    assert "trainer-infra-report" not in shown
    return shown


def has_failed(namespace: Namespace) -> bool:
    return any(
        each.get("status", {}).get("terminalState") == "Failed" for each in namespace.all("jobsets")
    )


def test_a_failing_program_is_named_with_pod_code_and_last_lines(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    shown = told(cli_cluster_stack, "on(code=42)", lambda: has_failed(namespace))
    assert re.search(r"TrainJob job-[0-9a-f]{8} failed: .*pod job-[0-9a-f]{8}-node-0-[01]", shown)
    assert "exit code 42" in shown
    assert re.search(r"rank [01] of 2", shown)


def test_an_image_that_cannot_be_pulled_is_named(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    image = "trainer-infra.invalid/nobody/has:1"
    trainer = f"CustomTrainer(train, num_nodes=1, image={image!r})"
    shown = told(cli_cluster_stack, trainer, lambda: "ErrImagePull" in str(namespace.all("pods")))
    assert "the image of container node cannot be pulled" in shown
    assert image in shown


def test_a_container_that_needs_more_memory_than_its_limit_is_named(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    trainer = """CustomTrainer(hungry, num_nodes=1, image=place["image"],
                               resources_per_node={"cpu": "50m", "memory": "64Mi"})"""
    shown = told(cli_cluster_stack, trainer, lambda: has_failed(namespace))
    assert re.search(r"pod job-[0-9a-f]{8}-node-0-0-\w+: container node ran out of memory", shown)
