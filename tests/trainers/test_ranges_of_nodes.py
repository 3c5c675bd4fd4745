"""`num_nodes=(2, 4)`: torchrun trains with the nodes that there are, and their Job replaces them one by one."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.trainers.conftest import Problems
from trainer_infra import (
    Checkpoint,
    ContainerTrainer,
    CustomTrainer,
    DeepSpeed,
    Jax,
    TorchTune,
    XGBoost,
    catalog,
    names,
)
from trainer_infra.api.fault_tolerance import FaultTolerance, with_fault_tolerance
from trainer_infra.api.input import UNKNOWN
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.deploy.train_job_arguments import Arguments, to_inputs
from trainer_infra.errors import InvalidInput
from trainer_infra.in_pod import init
from trainer_infra.render.behaviour import OURS
from trainer_infra.runs.settings import settings_of
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import Code

TORCH = catalog.get("torch-distributed")
RANGE = ["--nnodes=2:4", "--rdzv-backend=c10d"]
ADDRESS = "--rdzv-endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)"


def train() -> None:
    """Do nothing."""


def rendered(trainer: Any, runtime: ClusterTrainingRuntime = TORCH, **more: Any) -> Any:
    """The TrainJob, the JobSet's spec and the warnings of a trainer."""
    own = Arguments(runtime=runtime.metadata.name, trainer=trainer, **more)
    made = to_inputs(own.with_values(own.as_mapping()))
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": made["spec"],
    }
    code = Code.from_wire(json.loads(json.dumps(made["code"]))) if made["code"] else None
    found = compose.compose(job, runtime, code, (), replace(OURS, package_cache=""))
    job_set = next(each for each in found.objects if each["kind"] == names.JOBSET)
    return found.job.to_wire(), job_set["spec"], found.warnings


def variables(job: Any) -> dict[str, str]:
    return {each["name"]: each["value"] for each in job["spec"]["trainer"]["env"]}


def of_job(job_set: Any) -> Any:
    return job_set["replicatedJobs"][0]["template"]["spec"]


def test_torchrun_gets_the_range_before_the_program_and_the_job_the_most_of_it() -> None:
    job, job_set, warnings = rendered(CustomTrainer(train, num_nodes=(2, 4)))
    trainer = job["spec"]["trainer"]
    assert trainer["numNodes"] == of_job(job_set)["parallelism"] == 4
    mount = names.CODE_MOUNT
    first, last = ["python3", f"{mount}/init.py", "torchrun"], f"{mount}/main.py"
    assert trainer["command"] == [*first, *RANGE, ADDRESS, "--rdzv-id=digits", last]
    assert variables(job) == {
        "PET_MAX_RESTARTS": "10",
        "PET_RDZV_CONF": "join_timeout=3600,last_call_timeout=30",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    assert warnings == ()
    told = settings_of(job)
    assert (told.least_nodes, told.nodes) == (2, 4)


def test_packages_are_installed_before_torchrun_and_a_user_gives_other_waits() -> None:
    own = {"PET_RDZV_CONF": "last_call_timeout=300", "PET_MAX_RESTARTS": "99"}
    trainer = CustomTrainer(train, num_nodes=(1, 8), env=own, packages=["numpy==2.4.6"])
    job, job_set, _ = rendered(trainer)
    words = job["spec"]["trainer"]["command"]
    installing = words.index(f"{names.CODE_MOUNT}/packages.py")
    assert words[installing + 1 : installing + 3] == ["torchrun", "--nnodes=1:8"]
    assert variables(job) == {**own, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    assert of_job(job_set)["completions"] == 8


@pytest.mark.parametrize("more", [{}, {"checkpoint": Checkpoint()}])
def test_a_pod_that_is_taken_away_is_replaced_alone_and_counts_nothing(more: Any) -> None:
    _, job_set, _ = rendered(CustomTrainer(train, num_nodes=(2, 4)), **more)
    assert "failurePolicy" not in job_set
    rules = of_job(job_set)["podFailurePolicy"]["rules"]
    assert [each["action"] for each in rules] == ["Ignore", "Ignore"]
    assert rules[0]["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert rules[1]["onExitCodes"]["values"] == [143]
    assert of_job(job_set)["backoffLimit"] == 6
    assert of_job(job_set)["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    assert of_job(job_set)["template"]["spec"]["restartPolicy"] == "Never"


def test_a_runtime_keeps_policies_of_its_own() -> None:
    runtime = with_fault_tolerance(TORCH, FaultTolerance(max_restarts=2))
    _, job_set, _ = rendered(CustomTrainer(train, num_nodes=(2, 4)), runtime)
    assert job_set["failurePolicy"]["maxRestarts"] == 2


@pytest.mark.parametrize(
    ("words", "variable", "is_elastic"),
    [
        (["torchrun", "--nnodes=2:4", "--rdzv-backend=c10d", "t.py"], {}, True),
        (["sh", "-c", "exec torchrun --nnodes 1:4 --rdzv_backend etcd-v2 t.py"], {}, True),
        (
            ["python", "-m", "torch.distributed.run", "--nnodes=2:4", "t.py"],
            {"PET_RDZV_BACKEND": "c10d"},
            True,
        ),
        (["torchrun", "--nnodes=2:4", "t.py"], {}, False),
        (["torchrun", "--nnodes=4", "--rdzv-backend=c10d", "t.py"], {}, False),
        (["torchrun", "--nnodes=4:4", "--rdzv-backend=c10d", "t.py"], {}, False),
        (["torchrun", "t.py", "--nnodes=2:4", "--rdzv-backend=c10d"], {}, False),
        (["python", "t.py", "--nnodes=2:4"], {}, False),
    ],
)
def test_a_command_of_a_users_own_is_read(
    words: list[str], variable: dict[str, str], is_elastic: bool
) -> None:
    trainer = ContainerTrainer(command=words, num_nodes=4, env=variable)
    _, job_set, _ = rendered(trainer)
    assert ("podFailurePolicy" in of_job(job_set)) == is_elastic


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((4, 2), "must be the least number of nodes, then a larger one"),
        ((2, 2), "must be the least number of nodes, then a larger one"),
        ((0, 2), "num_nodes[0]: must be a whole number from 1"),
        ((2, "4"), "num_nodes[1]: must be a whole number from 1"),
        ((True, 4), "num_nodes[0]: must be a whole number from 1"),
        ((1.5, 4), "num_nodes[0]: must be a whole number from 1"),
        ((2, None), "must be one number of nodes, or two"),
        ((2,), "must be one number of nodes, or two"),
        ((1, 2, 4), "must be one number of nodes, or two"),
        ([], "must be one number of nodes, or two"),
        ("2:4", "num_nodes: must be a whole number from 1"),
    ],
)
def test_what_is_no_range_is_refused(nodes: Any, said: str, problems: Problems) -> None:
    assert said in "\n".join(problems(CustomTrainer(train, num_nodes=nodes)))


def test_a_number_that_only_the_deployment_tells_is_judged_then() -> None:
    for nodes in ((UNKNOWN, 4), (2, UNKNOWN), [2, 4]):
        given: Any = nodes
        assert CustomTrainer(train, num_nodes=given).pack().trainer["numNodes"] == nodes[1]


@pytest.mark.parametrize(
    "trainer",
    [
        ContainerTrainer(command=["torchrun", "t.py"], num_nodes=(2, 4)),
        TorchTune(num_nodes=(2, 4)),
        TorchTune(recipe="full_finetune_distributed", config="llama3_2/1B_full", num_nodes=(2, 4)),
    ],
)
def test_a_range_is_refused_where_the_command_is_not_ours(trainer: Any) -> None:
    with pytest.raises(InvalidInput, match="is a range, which only Python code has"):
        trainer.pack()


@pytest.mark.parametrize(
    ("trainer", "runtime"),
    [
        (CustomTrainer(train, num_nodes=(2, 4)), "plain-distributed"),
        (CustomTrainer(train, num_nodes=(2, 4)), "deepspeed-distributed"),
        (Jax(train, num_nodes=(2, 4)), "jax-distributed"),
        (XGBoost(train, num_nodes=(2, 4)), "xgboost-distributed"),
    ],
)
def test_a_range_is_refused_where_torchrun_does_not_start_the_program(
    trainer: Any, runtime: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        rendered(trainer, catalog.get(runtime))
    said = str(refused.value)
    assert f"starts the training on runtime {runtime}" in said
    assert "torch-distributed" in said


def test_deepspeed_takes_a_range_under_torchrun() -> None:
    job, _, _ = rendered(DeepSpeed(train, config={}, num_nodes=(2, 4)))
    assert RANGE[0] in job["spec"]["trainer"]["command"]


PRINTS = "import os, sys; print(os.environ['PET_RDZV_CONF']); sys.exit(int(sys.argv[-1]))"


def ended(index: str, code: int, *options: str) -> tuple[str, int]:
    """What a pod's first process gave to the launcher, and how it ended after that."""
    words = [sys.executable, str(init.__file__), sys.executable, "-c", PRINTS, *options, f"{code}"]
    variables = {"PET_RDZV_CONF": "last_call_timeout=3", "JOB_COMPLETION_INDEX": index}
    done = subprocess.run(words, env=variables, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip(), done.returncode


@pytest.mark.parametrize("code", [0, 1, 2, 127])
def test_the_first_node_is_where_all_meet_and_only_its_end_counts(code: int) -> None:
    assert ended("0", code, RANGE[1]) == ("last_call_timeout=3,is_host=1", code)
    assert ended("3", code, RANGE[1]) == (
        "last_call_timeout=3,is_host=0",
        143 if code == 1 else code,
    )
    assert ended("3", code) == ("last_call_timeout=3", code)
