"""Wrong programs, one mistake a line, each of which mypy and pyright must report; never run.

Each line says mypy's code of the error; `make lint` fails where mypy does not report it, and
`test_typed_program.py` shows what both report.
"""

from pathlib import Path

from trainer_infra import (
    ClusterTrainingRuntime,
    ContainerPatchArgs,
    CustomTrainer,
    DatasetInitializerArgs,
    InitializerArgs,
    PodSpecPatchArgs,
    ResourcesPerNodeArgs,
    RuntimePatchArgs,
    TrainerArgs,
    TrainingRuntime,
    TrainingRuntimeSpecArgs,
    TrainingRuntimeSpecPatchArgs,
    TrainJob,
    TrainJobs,
    catalog,
)
from trainer_infra.deploy.train_job_resource import TrainJobResult

NAME = "plain-distributed"
spec = catalog.get(NAME).spec


def train() -> None:
    """What is trained."""


TrainJob("a", runtime=NAME, wait_for="done")  # type: ignore[arg-type]
TrainJob("b", runtime=NAME, trainer={"numNods": 2})  # type: ignore[arg-type]
TrainJob("c", runtime=NAME, trainer={"numNodes": "2"})  # type: ignore[arg-type]
TrainJob("d", runtime=NAME, trainer=train)  # type: ignore[arg-type]
TrainJob("e", runtime=NAME, trainer="train.py")  # type: ignore[arg-type]
TrainJob("f", runtime=None)  # type: ignore[arg-type]
TrainJob("g")  # type: ignore[call-arg]
TrainJob("h", runtime=NAME, num_nods=2)  # type: ignore[call-arg]
TrainJob("i", runtime=NAME, initializer={"data": {}})  # type: ignore[arg-type]
TrainJob("j", runtime=NAME, runtime_patches=[{"time": "now"}])  # type: ignore[list-item]
TrainJob("k", runtime=NAME, labels={"a": 1})  # type: ignore[dict-item]
TrainJob("l", runtime=NAME, attempt="2")  # type: ignore[arg-type]
TrainJob("m", runtime=NAME, suspend="yes")  # type: ignore[arg-type]
TrainJob("n", runtime=NAME, active_deadline_seconds="1h")  # type: ignore[arg-type]
TrainJobs("o", [{"runtime": NAME}])  # type: ignore[arg-type]
TrainJobs("p", {"m": {"runtime": NAME, "trainr": {}}})  # type: ignore[typeddict-unknown-key]
TrainJobs("q", {"m": {"trainer": {}}})  # type: ignore[typeddict-item]
TrainJobs("r", {}).results.apply(lambda found: found["m"]["stats"])  # type: ignore[typeddict-item]
CustomTrainer(train, num_nods=2)  # type: ignore[call-arg]
CustomTrainer(train, num_nodes="2")  # type: ignore[arg-type]
CustomTrainer(train, packages=3)  # type: ignore[arg-type]
CustomTrainer(train, env={"A": 1})  # type: ignore[dict-item]
CustomTrainer(Path("train.py"), args=[1])  # type: ignore[list-item]
TrainingRuntime("s", spec, namespace=3)  # type: ignore[arg-type]
ClusterTrainingRuntime("t", spec, namespace="default")  # type: ignore[call-arg]
TrainJobResult("u", TrainJob("v", runtime=NAME), until="done")  # type: ignore[arg-type]
ClusterTrainingRuntime("w", {"templat": {}})  # type: ignore[arg-type]
TrainingRuntime("x", TrainingRuntimeSpecArgs(mlPolicy={"numNodes": "2"}))  # type: ignore[typeddict-item]
sweep = TrainJobs("y", {})
sweep.members.apply(lambda found: found["m"]["lastSeen"])  # type: ignore[typeddict-item]
seen = TrainJob("z", runtime=NAME).lastSeen  # type: ignore[attr-defined]

# From here on each line ends with what it misspells.
InitializerArgs(datset={})  # type: ignore[typeddict-unknown-key]  # datset
DatasetInitializerArgs(storageURI="hf://a/b")  # type: ignore[typeddict-unknown-key]  # storageURI
TrainerArgs(numNods=2)  # type: ignore[typeddict-unknown-key]  # numNods
TrainerArgs(numNodes="2")  # type: ignore[typeddict-item]  # numNodes
TrainJob(
    "deep",
    runtime=NAME,
    trainer=TrainerArgs(
        image="example.com/image",
        resourcesPerNode=ResourcesPerNodeArgs(limit={"cpu": 1}),  # type: ignore[typeddict-unknown-key]  # limit
    ),
    runtime_patches=[
        RuntimePatchArgs(
            manager="example.com/team",
            trainingRuntimeSpec=TrainingRuntimeSpecPatchArgs(
                template={
                    "spec": {
                        "replicatedJobs": [
                            {
                                "name": "node",
                                "template": {"metdata": {}},  # type: ignore[typeddict-unknown-key]  # metdata
                            },
                        ],
                    },
                },
            ),
        ),
    ],
)
tolerant = PodSpecPatchArgs(
    tolerations=[
        {"keys": "gpu"},  # type: ignore[typeddict-unknown-key]  # keys
    ],
)
pod: PodSpecPatchArgs = {
    "containers": [
        {
            "name": "node",
            "env": [
                {"name": "A", "valu": "1"},  # type: ignore[typeddict-unknown-key]  # valu
            ],
        },
    ],
}
container: ContainerPatchArgs = {
    "name": "node",
    "env": [
        {"name": "B", "value": 1},  # type: ignore[typeddict-item]  # value
    ],
}
