"""What survives a preemption is not spoken of, and what is decided when a program runs is left alone."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.checkpoint import VARIABLE
from trainer_infra.api.fault_tolerance import FaultTolerance, with_fault_tolerance
from trainer_infra.rules import recovery, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge

SAID = {"place": "s3://runs/digits", "every_steps": 100, "save_seconds": 60}
TIMEOUT = {"name": "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "value": "60"}
GRACE = {"terminationGracePeriodSeconds": 75}


def found(*objects: Any) -> list[tuple[str, str]]:
    """What the rules of recovery say of the first object."""
    subjects = tree.subjects_of(objects)
    chosen = [ConfiguredRule.default(each) for each in recovery.RULES]
    return [
        (verdict.chosen.rule.id, finding.what)
        for verdict in judge(subjects[0], world.world_of(subjects), chosen)
        for finding in verdict.findings
    ]


def train_job(runtime: str, command: Sequence[str], **said: Any) -> Any:
    env = [{"name": VARIABLE, "value": json.dumps({**SAID, **said})}, TIMEOUT]
    job = {"name": "node", "template": {"spec": {"template": {"spec": GRACE}}}}
    patch = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": {"command": list(command), "env": env},
            "runtimePatches": [{"manager": "example.com/team", "trainingRuntimeSpec": patch}],
        },
    }


TORCH = [each.name for each in catalog.RUNTIMES if each.name.startswith("torch-")]


@pytest.mark.parametrize("runtime", TORCH)
def test_a_run_with_a_checkpoint_on_a_runtime_of_the_catalog_is_right(runtime: str) -> None:
    assert found(train_job(runtime, ["torchrun", "train.py"])) == []


@pytest.mark.parametrize("runtime", [each.name for each in catalog.RUNTIMES])
def test_nothing_is_said_of_runtimes_of_the_catalog(runtime: str) -> None:
    assert found(catalog.get(runtime).to_wire()) == []


@pytest.mark.parametrize("codes", [(), (143,), (137, 143)])
def test_only_a_policy_that_frees_exit_code_143_counts_no_deleted_pod(
    codes: tuple[int, ...],
) -> None:
    tolerance = FaultTolerance(uncounted_exit_codes=codes)
    runtime = with_fault_tolerance(catalog.get("torch-distributed"), tolerance).to_wire()
    runtime["metadata"]["name"] = "own"
    said = found(train_job("own", ["torchrun", "train.py"]), runtime)
    assert [rule for rule, _ in said] == ([] if 143 in codes else ["preemption-counted"])


FINE = {
    "a flag that a loop reads": """
import signal, sys, torch
stop = False
def told(*_):
    global stop
    stop = True
signal.signal(signal.SIGTERM, told)
while not stop:
    torch.rand(1)
""",
    "an exit code of its own": """
import signal, sys, torch
signal.signal(signal.SIGTERM, lambda *_: sys.exit(save()))
""",
    "another signal": """
import signal, sys, torch
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
""",
    "the default": "import signal, torch\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)\n",
    "functions that call one another": """
import signal, torch
def told(*_):
    save()
def save():
    told()
signal.signal(signal.SIGTERM, told)
""",
}


@pytest.mark.parametrize("code", FINE.values(), ids=FINE)
def test_a_program_that_may_end_otherwise_is_left_alone(code: str) -> None:
    container = {"name": "node", "image": "example.com/t:1", "command": ["python", "-c", code]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    spec = {"replicatedJobs": [job]}
    jobset = {"kind": "JobSet", "metadata": {"name": "digits"}, "spec": spec}
    assert found({"apiVersion": "jobset.x-k8s.io/v1alpha2", **jobset}) == []


def test_a_server_may_end_with_0() -> None:
    code = (
        "import http.server, signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    )
    texts = {"serve.py": code, "run.sh": "trap 'exit 0' TERM\nnginx & wait\n"}
    assert found({"apiVersion": "v1", "kind": "ConfigMap", "data": texts}) == []


@pytest.mark.parametrize("value", ["$SECONDS", "$(SECONDS)"])
def test_a_time_that_is_known_when_it_runs_is_not_judged(value: str) -> None:
    job = train_job("torch-distributed", ["torchrun", f"--shutdown-timeout={value}", "train.py"])
    assert found(job) == []
