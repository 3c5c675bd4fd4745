"""What goes wrong in pods: named in the error, with pod, reason and last lines."""

import re
import time
from textwrap import dedent

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM

JOB = """
TrainJob("job", runtime=tried_once("jax-distributed"), namespace=NS, wait_for="complete",
         trainer={trainer})
"""


def program(trainer: str) -> str:
    return PROGRAM + dedent(JOB.format(trainer=trainer))


def test_a_failing_program_is_named_with_pod_code_and_last_lines(cluster_stack: Stack) -> None:
    cluster_stack.program(program("on(code=42)"))
    shown = cluster_stack.up(ok=False)
    assert re.search(r"TrainJob job-[0-9a-f]{8} failed: .*pod job-[0-9a-f]{8}-node-0-[01]", shown)
    assert "exit code 42" in shown
    assert re.search(r"rank [01] of 2", shown)
    assert "Traceback" not in shown
    assert "trainer-infra-report" not in shown


def test_an_image_that_cannot_be_pulled_is_named(cluster_stack: Stack) -> None:
    trainer = 'CustomTrainer(train, num_nodes=1, image="trainer-infra.invalid/nobody/has:1")'
    cluster_stack.program(program(trainer))
    started = time.monotonic()
    shown = cluster_stack.up(ok=False)
    assert "the image of container node cannot be pulled" in shown
    assert "trainer-infra.invalid/nobody/has:1" in shown
    assert time.monotonic() - started < 60, "a wait without an end"


def test_a_container_that_needs_more_memory_than_its_limit_is_named(
    cluster_stack: Stack,
) -> None:
    cluster_stack.program(
        program(
            """CustomTrainer(hungry, num_nodes=1, image=place["image"],
                         resources_per_node={"cpu": "50m", "memory": "64Mi"})"""
        ).replace(
            "\nTrainJob(", "\ndef hungry():\n    return len(b'x' * (1 << 30))\n\nTrainJob(", 1
        )
    )
    shown = cluster_stack.up(ok=False)
    assert "ran out of memory" in shown, shown
    assert re.search(r"pod job-[0-9a-f]{8}-node-0-0-\w+: container node", shown), shown
