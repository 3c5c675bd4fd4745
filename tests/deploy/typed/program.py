"""A Pulumi program that hands an Output or an awaitable to every argument that takes one.

`test_typed_program.py` has mypy check it with --strict and Pulumi run it, so that what the types
promise holds at run time.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import pulumi

from trainer_infra import (
    ClusterTrainingRuntime,
    ContainerArgs,
    ContainerPatchArgs,
    CustomTrainer,
    DatasetInitializerArgs,
    EmptyDirVolumeSourceArgs,
    EnvVarArgs,
    InitializerArgs,
    JobSetSpecPatchArgs,
    JobSetTemplatePatchArgs,
    JobSpecPatchArgs,
    JobTemplatePatchArgs,
    ModelInitializerArgs,
    PodSpecArgs,
    PodSpecPatchArgs,
    PodTemplateSpecPatchArgs,
    ReplicatedJobArgs,
    ReplicatedJobPatchArgs,
    ResourcesPerNodeArgs,
    RunResult,
    RuntimePatchArgs,
    Secret,
    SecurityContextArgs,
    TolerationArgs,
    TrainerArgs,
    TrainingRuntime,
    TrainingRuntimeSpecArgs,
    TrainingRuntimeSpecPatchArgs,
    TrainJob,
    TrainJobArgs,
    TrainJobs,
    VolumeArgs,
    VolumeMountArgs,
    catalog,
)

T = TypeVar("T")
INITIALIZERS = ("dataset-initializer", "model-initializer")


def out(value: T) -> pulumi.Output[T]:
    """An Output of the value."""
    return cast("pulumi.Output[T]", pulumi.Output.from_input(value))


async def later(value: T) -> T:
    """An awaitable of the value."""
    return value


def train(rate: float, token: str, nodes: int = 0) -> None:
    """What is trained."""
    import os  # noqa: PLC0415  a training function imports inside

    import planted  # type: ignore[import-not-found]  # noqa: PLC0415  of the index that is given

    from trainer_infra.report import report  # noqa: PLC0415  the same

    report(rate=rate, token=len(token), nodes=nodes, home=os.environ["WHERE"], of=planted.VERSION)


index = pulumi.Config().require("index")
shell: TrainerArgs = {"command": ["true"]}
patch: RuntimePatchArgs = {
    "manager": out("example.com/team"),
    "trainingRuntimeSpec": out(
        TrainingRuntimeSpecPatchArgs(template={"metadata": {"labels": {"team": out("vision")}}})
    ),
}

container = ContainerPatchArgs(
    name="node",
    volumeMounts=[VolumeMountArgs(name=out("scratch"), mountPath="/scratch")],
    securityContext=SecurityContextArgs(allowPrivilegeEscalation=out(value=False)),
)
pod = PodSpecPatchArgs(
    containers=[container],
    volumes=[VolumeArgs(name="scratch", emptyDir=EmptyDirVolumeSourceArgs(sizeLimit=out("1Gi")))],
    nodeSelector={"example.com/pool": out("training")},
    tolerations=[TolerationArgs(key="example.com/pool", operator=out("Exists"))],
)
node = ReplicatedJobPatchArgs(
    name="node",
    template=JobTemplatePatchArgs(
        spec=JobSpecPatchArgs(template=PodTemplateSpecPatchArgs(spec=pod))
    ),
)
deep = RuntimePatchArgs(
    manager="example.com/deep",
    trainingRuntimeSpec=TrainingRuntimeSpecPatchArgs(
        template=JobSetTemplatePatchArgs(spec=JobSetSpecPatchArgs(replicatedJobs=[node]))
    ),
)

first = TrainJob(
    "first",
    runtime=out("plain-distributed"),
    trainer=CustomTrainer(
        train,
        func_args={"rate": out(0.5), "token": Secret(out("planted-token")), "nodes": later(2)},
        num_nodes=out(1),
        num_proc_per_node=out(1),
        resources_per_node={"cpu": out(1)},
        env={"WHERE": out("here"), "HIDDEN": pulumi.Output.secret("planted-variable")},
        image=out("example.com/image"),
        packages=[out("planted==1.0")],
        pip_index_urls=[out(index)],
    ),
    runtime_patches=[patch, deep],
    suspend=out(value=False),
    active_deadline_seconds=out(300),
    name=out("first-run"),
    namespace=out("default"),
    labels={"team": out("vision")},
    annotations=out({"example.com/why": "types"}),
    outputs=[out("model"), "logs"],
    attempt=out(1),
    wait_for="complete",
    adopt=out(value=False),
    delete_timeout=out(60.0),
)
second = TrainJob(
    "second",
    runtime="plain-distributed",
    trainer=CustomTrainer(
        later("script.py:train"),
        func_args=later({"rate": 0.5}),
        num_nodes=later(1),
        num_proc_per_node=later(1),
        resources_per_node=later({"cpu": 1}),
        env=later({"WHERE": "here"}),
        image=later("example.com/image"),
        packages=later(["planted==1.0"]),
        pip_index_urls=later([index]),
    ),
    runtime_patches=later([patch]),
    suspend=later(value=False),
    active_deadline_seconds=later(300),
    name=later("second-run"),
    namespace=first.namespace,
    labels=later({"team": "vision"}),
    annotations={"example.com/why": later("types")},
    outputs=later(["model"]),
    attempt=later(1),
    adopt=later(value=False),
    delete_timeout=later(60.0),
)
scripted = TrainJob(
    "scripted",
    runtime="plain-distributed",
    trainer=CustomTrainer(
        func=out("script.py"),
        args=[out("--rate"), "1"],
        packages_to_install=out(["planted==1.0"]),
        pip_index_urls=out([index]),
    ),
)


def step(name: str) -> ReplicatedJobArgs:
    """A replicated job of an initializer that downloads nothing."""
    container: ContainerArgs = {
        "name": name,
        "image": out("example.com/image"),
        "command": ["true"],
        "volumeMounts": [{"name": out("initializer"), "mountPath": "/workspace"}],
    }
    pod: PodSpecArgs = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [VolumeArgs(name="initializer", emptyDir={"sizeLimit": out("1Gi")})],
    }
    return {
        "name": name,
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": name}},
            "spec": {"template": {"spec": pod}},
        },
    }


plain: Any = catalog.get("plain-distributed").to_wire()["spec"]
plain["template"]["spec"]["replicatedJobs"] += map(step, INITIALIZERS)
spec: TrainingRuntimeSpecArgs = {"mlPolicy": {"numNodes": out(2)}, "template": plain["template"]}
shared = ClusterTrainingRuntime(
    "shared",
    spec,
    name=out("shared-runtime"),
    labels={"team": out("vision")},
    annotations=out({"example.com/why": "types"}),
    adopt=out(value=False),
)
mine = TrainingRuntime(
    "mine",
    spec,
    name=later("mine-runtime"),
    namespace=later("default"),
    labels=later({"team": "vision"}),
    annotations={"example.com/why": later("types")},
    adopt=later(value=False),
)
source = InitializerArgs(
    dataset=DatasetInitializerArgs(
        storageUri=out("hf://team/data"),
        env=[EnvVarArgs(name="ACCESS_TOKEN", value=Secret(out("planted-access")))],
    ),
    model=out(ModelInitializerArgs(storageUri="hf://team/model")),
)
wire = TrainJob(
    "wire",
    runtime=shared,
    trainer={
        "image": out("example.com/image"),
        "command": ["sh", out("-c")],
        "args": out(["exit 0"]),
        "env": [{"name": "A", "value": out("1")}, {"name": out("B"), "value": Secret("planted-b")}],
        "numNodes": out(1),
        "numProcPerNode": later(1),
        "resourcesPerNode": ResourcesPerNodeArgs(
            limits={"cpu": out("1")}, requests=out({"cpu": 1})
        ),
    },
    initializer=source,
    outputs={"model": out("s3://models/x"), "logs": None},
)
member: TrainJobArgs = {
    "runtime": mine,
    "trainer": out(shell),
    "initializer": later(source),
    "runtime_patches": out([patch]),
    "suspend": out(value=False),
    "active_deadline_seconds": out(300),
    "name": out("member-run"),
    "namespace": out("default"),
    "labels": {"team": out("vision")},
    "annotations": out({"example.com/why": "types"}),
    "outputs": out({"model": "s3://models/{run}"}),
    "attempt": later(1),
    "adopt": later(value=False),
    "delete_timeout": out(60.0),
}
sweep = TrainJobs(
    "sweep",
    {"whole": member, "short": {"runtime": "plain-distributed", "trainer": later(shell)}},
    wait_for="complete",
    tolerate_failures=out(1),
    max_parallel=later(1),
)


def statuses(results: Mapping[str, RunResult]) -> dict[str, str]:
    """How each member ended."""
    return {name: each["status"] for name, each in results.items()}


rate: pulumi.Output[float | str | None] = first.metrics["rate"]
seen: pulumi.Output[str] = first.last_seen
started: pulumi.Output[str] = first.result.started_at
ended: pulumi.Output[dict[str, str]] = sweep.results.apply(
    lambda results: {name: each["finished_at"] for name, each in results.items()}
)
members: pulumi.Output[set[str]] = sweep.members.apply(
    lambda known: {each.get("last_seen", "") for each in known.values()}
)
pulumi.export("rate", rate)
pulumi.export("seen", pulumi.Output.all(seen, started, ended, members.apply(sorted)))
pulumi.export("metrics", first.metrics)
pulumi.export("outputs", [each.outputs.apply(sorted) for each in (first, second, wire)])
pulumi.export("statuses", sweep.results.apply(statuses))
pulumi.export("names", [second.name, scripted.name, wire.name, shared.name, mine.name])
