"""What a preview says of a TrainJob's command and of variables that are said twice, and what it refuses."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour

GPUS = {"limits": {"cpu": 8, "nvidia.com/gpu": 2}}


def job(runtime: str = "torch-distributed", *, initializer: Any = None, **trainer: Any) -> TrainJob:
    own = {} if initializer is None else {"initializer": initializer}
    return TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj", "namespace": "n"},
            "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer, **own},
        }
    )


def warnings(
    of: TrainJob, behaviour: Behaviour = OURS, on: Runtime | None = None
) -> tuple[str, ...]:
    return pipeline.rendering_warnings(of, on or catalog.get(of.spec.runtime_ref.name), behaviour)


def problems(of: TrainJob, behaviour: Behaviour = OURS) -> list[str]:
    found = pipeline.rendering_problems(of, catalog.get(of.spec.runtime_ref.name), behaviour)
    return [each.path for each in found]


def runtime_with(**container: Any) -> Runtime:
    wire = catalog.get("torch-distributed").to_wire()
    (replicated,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    replicated["template"]["spec"]["template"]["spec"]["containers"][0].update(container)
    return ClusterTrainingRuntime.from_wire(wire)


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (
            job(numNodes=3, command=["python", "train.py"], resourcesPerNode=GPUS),
            "job node, container node: 'python' is started on each of 3 nodes",
        ),
        (
            job(
                numNodes=2,
                command=["torchrun", "--nproc-per-node=4", "t.py"],
                resourcesPerNode=GPUS,
            ),
            "job node, container node: 'torchrun' starts 4 processes on a node with 2 accelerators",
        ),
        (
            job("deepspeed-distributed", numNodes=2, command=["python", "t.py"]),
            "job launcher, container node: 'python' runs on the launcher alone, and 2 nodes are idle",
        ),
        (
            job("mlx-distributed", numNodes=2, command=["mpirun", "-np", "8", "python", "t.py"]),
            "job launcher, container node: 'mpirun' starts 8 processes, and the nodes have 2 slots",
        ),
        (
            job("jax-distributed", numNodes=2, command=["torchrun", "t.py"]),
            "job node, container node:",
        ),
    ],
    ids=["python", "processes", "launcher", "slots", "no torch"],
)
def test_launch_of_fewer_than_all_nodes_is_told(of: TrainJob, said: str) -> None:
    (only,) = warnings(of)
    assert only.startswith(said)
    assert warnings(of, REFERENCE) == ()


@pytest.mark.parametrize(
    "of",
    [
        job(numNodes=2, command=["torchrun", "t.py"], resourcesPerNode=GPUS),
        job(numNodes=1, command=["python", "t.py"]),
        job(numNodes=2, command=["bash", "/opt/train.sh"]),
        job(numNodes=2, command=["python", "t.py"], env=[{"name": "MASTER_ADDR", "value": "head"}]),
        job("deepspeed-distributed", numNodes=2, command=["mpirun", "python", "t.py"]),
        job("jax-distributed", numNodes=2, command=["python", "t.py"]),
        job("plain-distributed", numNodes=2, command=["python", "t.py"]),
        job("flux-distributed", numNodes=2, command=["python", "t.py"]),
    ],
    ids=lambda of: f"{of.spec.runtime_ref.name} {of.spec.trainer.command[0]}",
)
def test_nothing_is_said_of_a_command_that_trains_on_all_nodes(of: TrainJob) -> None:
    assert warnings(of) == ()


def test_a_variable_of_an_init_container_that_is_not_there_is_told() -> None:
    """The policy fills the variables of the container `node` alone, unless envInjection names others."""
    wire = runtime_with(command=["torchrun", "t.py"]).to_wire()
    (replicated,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    init = {"name": "fetch", "image": "f", "command": ["sh", "-c", "fetch $PET_NODE_RANK"]}
    replicated["template"]["spec"]["template"]["spec"]["initContainers"] = [init]
    on = ClusterTrainingRuntime.from_wire(wire)
    (only,) = warnings(job(numNodes=2), on=on)
    assert only.startswith("job node, container fetch: ")
    assert "the shell has no variable PET_NODE_RANK" in only


@pytest.mark.parametrize(
    "args",
    [["/mnt/train.py"], ["--lr", "0.1"], ["train.py", "torchrun"]],
    ids=["file", "options", "launcher later"],
)
def test_args_without_a_command_are_refused_where_torchrun_must_start_them(args: list[str]) -> None:
    assert problems(job(numNodes=2, args=args)) == ["spec.trainer.args"]
    assert problems(job(numNodes=2, args=args), REFERENCE) == []


@pytest.mark.parametrize(
    "of",
    [
        job(args=["torchrun", "train.py"]),
        job(args=["bash", "-c", "torchrun train.py"]),
        job(command=["torchrun"], args=["train.py"]),
        job(args=["--lr", "0.1"], env=[{"name": "MASTER_ADDR", "value": "head"}]),
        job("plain-distributed", args=["--lr", "0.1"]),
        job("xgboost-distributed", args=["--lr", "0.1"]),
    ],
    ids=["launcher", "shell", "command", "own address", "plain", "xgboost"],
)
def test_args_that_an_entrypoint_may_start_are_taken(of: TrainJob) -> None:
    assert problems(of) == []


def test_args_of_a_command_of_the_runtime_are_taken() -> None:
    on = runtime_with(command=["torchrun"], args=["/app/train.py"])
    assert pipeline.rendering_problems(job(args=["/app/other.py"]), on) == ()
    (only,) = warnings(job(args=["--lr=0.1"]), on=on)
    assert "has no script to start" in only


@pytest.mark.parametrize("kind", ["dataset", "model"])
@pytest.mark.parametrize(
    ("value", "is_refused"), [("hf://team/dogs", True), ("hf://team/cats", False), (None, True)]
)
def test_storage_uri_is_said_once(kind: str, value: str | None, is_refused: bool) -> None:
    variable = {"name": "STORAGE_URI"} | ({} if value is None else {"value": value})
    source = {"storageUri": "hf://team/cats", "env": [variable]}
    of = job(
        "torch-distributed-with-initializers", initializer={kind: source}, command=["torchrun", "t"]
    )
    expected = [f"spec.initializer.{kind}.env[0].value"] if is_refused else []
    assert problems(of) in (expected, [each.removesuffix(".value") for each in expected])
    assert problems(of, REFERENCE) == []


def test_problems_of_a_command_are_sentences() -> None:
    with pytest.raises(
        InvalidInput, match=r"spec\.trainer\.args: are arguments of no command: .*torchrun"
    ):
        pipeline.render(job(args=["train.py"]), catalog.get("torch-distributed"))


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("sidecar.istio.io/inject", "template.spec.template.metadata"),
        ("linkerd.io/inject", "template.spec.template.metadata"),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "template.spec.template.metadata"),
        ("karpenter.sh/do-not-disrupt", "template.spec.template.metadata"),
        ("prometheus.io/scrape", "template.spec.template.metadata"),
        ("azure.workload.identity/use", "template.spec.template.metadata"),
        (
            "alpha.jobset.sigs.k8s.io/exclusive-topology",
            "below trainingRuntimeSpec.template.metadata",
        ),
        ("team.example.com/cost", ""),
        ("kueue.x-k8s.io/queue-name", ""),
        ("app.kubernetes.io/name", ""),
    ],
)
def test_launch_metadata_that_no_pod_gets_is_told(field: str, key: str, place: str) -> None:
    wire = job("plain-distributed", command=["python", "t.py"]).to_wire()
    wire["metadata"][field] = {key: "false"}
    said = warnings(TrainJob.from_wire(wire))
    assert [place in each and f"metadata.{field}[{key}]" in each for each in said] == (
        [True] if place else []
    )
