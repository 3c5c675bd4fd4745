"""A rank that hangs in a cluster is named with its pod and its line, and restarts from its checkpoint when asked to."""

import json
from functools import partial
from textwrap import dedent
from typing import Any, Final

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.e2e.test_outputs_and_retry import CLAIM

HANGING: Final = """
from trainer_infra import Checkpoint

def count():
    import os, signal, time
    from trainer_infra.checkpoint import Checkpointer
    checkpointer = Checkpointer()
    state = checkpointer.restore({"step": 0})
    begun = state["step"]
    print("begins", begun, flush=True)
    for step in range(begun, 60):
        if step == 27 and os.environ["HANGS"] == "yes" and (not begun or %(always)s):
            os.kill(os.getpid(), signal.SIGSTOP)
        checkpointer.step(step + 1, {"step": step + 1})
        time.sleep(0.1)
    print("ends", flush=True)

TrainJob("job", runtime="plain-distributed", namespace=NS,
         checkpoint=Checkpoint(uri="pvc://models/{run}", every=10, save_seconds=5, hang_after="15s", on_hang="%(on_hang)s"),
         trainer=CustomTrainer(count, image=place["image"], env={"HANGS": "yes"}, resources_per_node={"cpu": "50m"}))
"""


def submitted(stack: Stack, namespace: Namespace, *, always: bool, on_hang: str) -> str:
    """Its name."""
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    stack.program(PROGRAM + dedent(HANGING % {"always": always, "on_hang": on_hang}))
    stack.up()
    return str(stack.job()["name"])


def seen(stack: Stack, namespace: Namespace, name: str) -> Any:
    """The run as `get` has it."""
    return json.loads(stack.trainer("get", name, "-n", namespace.name, "-o", "json"))


def is_stuck(stack: Stack, namespace: Namespace, name: str) -> Any:
    """The run once it hangs."""
    run = seen(stack, namespace, name)
    return run if run["cause"] == "hang" else None


def is_over(stack: Stack, namespace: Namespace, name: str) -> Any:
    """The run once it has ended."""
    run = seen(stack, namespace, name)
    return run if run["phase"] in {"Complete", "Failed"} else None


def test_a_rank_that_hangs_is_named(cluster_stack: Stack, namespace: Namespace) -> None:
    name = submitted(cluster_stack, namespace, always=True, on_hang="say")
    run = eventually(partial(is_stuck, cluster_stack, namespace, name))
    (pod,) = namespace.names("pods")
    assert run["stuck"].startswith(f"rank 0 (pod {pod}) made no step for ")
    assert run["stuck"].endswith("since step 27: it is stopped")
    shown = cluster_stack.trainer("describe", name, "-n", namespace.name)
    assert f"rank 0 (pod {pod}) made no step for " in shown
    said = cluster_stack.trainer("logs", name, "-n", namespace.name)
    assert "it is stopped and writes no stacks" in said
    assert "trainer-infra-hang" not in said


def test_asked_to_restart_it_goes_on_from_its_checkpoint(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    name = submitted(cluster_stack, namespace, always=False, on_hang="restart")
    run = eventually(partial(is_over, cluster_stack, namespace, name))
    assert run["phase"] == "Complete", run["message"]
    said = cluster_stack.trainer("logs", name, "-n", namespace.name)
    assert "begins 20" in said
