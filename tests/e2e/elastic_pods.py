"""The training of `training/train_elastic.py` as four pods of a cluster, of which some are deleted."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Final

from from_source.cluster import python
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.elastic_training import STEPS, TRAINING, begins, end_of
from tests.e2e.jobs import eventually
from tests.e2e.survivor import phase_at_end
from tests.e2e.test_outputs_and_retry import CLAIM

GATE: Final = "/opt/gate"
LONG: Final = 600
"""Seconds in which four pods import torch on a busy machine, and as many again each time that they meet."""
ELASTIC: Final = """
from trainer_infra import Checkpoint

TrainJob("job", runtime="torch-distributed", namespace=NS, runtime_patches=[place["patch"]],
         checkpoint=Checkpoint(uri="pvc://models/{run}", every=20, save_seconds=10),
         trainer=CustomTrainer("%s/train_elastic.py:train", func_args={"steps": %d, "gate": "%s"},
                               num_nodes=(2, 4), num_proc_per_node=1, image=place["image"],
                               resources_per_node={"requests": {"cpu": "50m"}},
                               env={"PET_RDZV_CONF": "join_timeout=600,last_call_timeout=30", **place["env"]}))
"""


def train_with_deleted_pods(stack: Stack, namespace: Namespace, gate: Path) -> float:
    """Delete the pod of node 3, then that of node 0; with what the training ends."""
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    folders = {runtimes.PACKAGES: python.environment("torch"), GATE: gate}
    runtimes.describe_pods(stack.folder, folders)
    stack.program(PROGRAM + dedent(ELASTIC % (TRAINING, STEPS, GATE)))
    stack.up()
    name = stack.job()["name"]
    said = partial(stack.trainer, "logs", name, "-n", namespace.name)
    eventually(lambda: _last(said)[1:] == [4], LONG)
    eventually(lambda: "has done 30 " in said(), LONG)

    before, times = _pods(namespace), len(begins(said()))
    reached = _delete(namespace, before["3"], said)
    eventually(lambda: len(begins(said())) > times and _last(said)[1:] == [4], LONG)
    after = _pods(namespace)
    assert {key: each for key, each in after.items() if key != "3"} == {
        key: each for key, each in before.items() if key != "3"
    }, "the other pods stay"
    assert _last(said)[0] >= reached, "each was told to end by its own torchrun, and saved"

    reached = _delete(namespace, after["0"], said)
    eventually(lambda: not {*after.values()} & {*_pods(namespace).values()})
    eventually(lambda: _last(said)[1:] == [4] and _last(said)[0] >= reached, LONG)
    (jobset,) = namespace.all("jobsets")
    assert not jobset["status"].get("restarts"), "no pod was counted"

    (gate / "go").touch()
    phase = phase_at_end(stack, namespace, name)
    assert phase == "Complete", stack.trainer("describe", name, "-n", namespace.name)
    return end_of(said())


def _delete(namespace: Namespace, pod: str, said: Callable[[], str]) -> int:
    """Delete a pod, as somebody does by hand; the step that the training had begun from before."""
    reached = _last(said)[0]
    namespace.kubectl("delete", "pod", pod, "--wait=false")
    return reached


def _last(said: Callable[[], str]) -> list[int]:
    """From which step it began last, and with how many processes; empty where it has not."""
    return [number for each in begins(said())[-1:] for number in each]


def _pods(namespace: Namespace) -> dict[str, str]:
    """Names of the pods that are to stay, by the number of their node."""
    label = "batch.kubernetes.io/job-completion-index"
    return {
        each["metadata"]["labels"][label]: each["metadata"]["name"]
        for each in namespace.all("pods")
        if "deletionTimestamp" not in each["metadata"]
        and each["status"].get("phase") in {"Pending", "Running"}
    }
