"""Frameworks as pods: the shipped runtimes train on real digits above 0.9.

Each of several ranks has only some of the ten digits (training/digits.py): an accuracy above 0.9
shows that the gradients or histograms of all of them arrived.
"""

from pathlib import Path

import pytest

from from_source.cluster import python
from tests.e2e import runtimes
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs
from trainer_infra.runs.run import COMPLETE, Run
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

TRAINING = Path(__file__).parent / "training"
LITTLE = {"requests": {"cpu": "100m", "memory": "64Mi"}}
"""No limits: a tenth of a processor would import a framework for a minute."""


def accuracies(run: Run, ranks: int) -> list[float]:
    """What each pod that trains reported last, when so many ranks trained together."""
    assert run.phase == COMPLETE, run
    assert {node.metrics["ranks"] for node in run.nodes} == {str(ranks)}
    return [float(node.metrics["accuracy"]) for node in run.nodes]


def program(name: str, *arguments: str) -> list[str]:
    return ["python", f"{runtimes.PROGRAMS}/training/{name}.py", *arguments]


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("framework", ["torch", "jax", "xgboost"])
def test_two_nodes_learn_each_others_digits(framework: str, namespace: Namespace) -> None:
    runtime = runtimes.on_host(f"{framework}-distributed", python.environment(framework))
    trainer = CustomTrainer(
        f"{TRAINING}:train_{framework}:train", num_nodes=2, resources_per_node=LITTLE
    )

    run = Jobs(namespace).run(runtime, trainer)

    first, second = accuracies(run, ranks=2)
    assert first == second > 0.9


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("runtime", "packages", "nodes"), [("deepspeed", "mpi", 3), ("mlx", "mlx", 2)]
)
def test_a_launcher_and_its_workers_learn_each_others_digits(
    runtime: str, packages: str, nodes: int, namespace: Namespace
) -> None:
    chosen = runtimes.on_host(f"{runtime}-distributed", python.environment(packages))
    trainer = CustomTrainer(
        f"{TRAINING}:train_{packages}:train",
        num_nodes=nodes,
        env={"PYTHONPATH": runtimes.PACKAGES},
        resources_per_node=LITTLE,
    )

    (accuracy,) = accuracies(Jobs(namespace).run(chosen, trainer), ranks=nodes)

    assert accuracy > 0.9


@pytest.mark.usefixtures("image")
def test_a_plain_job_trains(namespace: Namespace) -> None:
    runtime = runtimes.on_host("plain-distributed", python.environment("mpi"))
    trainer = CustomTrainer(f"{TRAINING}:train_plain:train", resources_per_node=LITTLE)

    (accuracy,) = accuracies(Jobs(namespace).run(runtime, trainer), ranks=1)

    assert accuracy > 0.9


@pytest.mark.usefixtures("image")
def test_a_node_trains_from_what_the_initializers_put_on_the_shared_volume(
    namespace: Namespace,
) -> None:
    runtime = runtimes.with_programs("torchtune-llama3.2-1b", python.environment("mpi"))
    fetching = {
        "dataset-initializer": program("fetch", "/workspace/dataset"),
        "model-initializer": program("fetch", "/workspace/model"),
    }

    run = Jobs(namespace).run(
        runtimes.with_commands(runtime, fetching),
        {"command": program("train_fetched", "/workspace"), "resourcesPerNode": LITTLE},
        initializer={
            "dataset": {"storageUri": "digits://scikit-learn"},
            "model": {"storageUri": "random://7"},
        },
    )

    (accuracy,) = accuracies(run, ranks=1)
    assert accuracy > 0.9
    started = {each["name"]: each for each in run.status["jobsStatus"]}
    assert started["dataset-initializer"]["succeeded"] == 1
    assert started["model-initializer"]["succeeded"] == 1


@pytest.mark.usefixtures("image")
def test_two_nodes_exchange_their_gradients_over_a_shared_volume(namespace: Namespace) -> None:
    namespace.kubectl("apply", "--filename", "-", given=CLAIM)
    patch = {"volumes": [VOLUME], "containers": [{"name": "node", "volumeMounts": [MOUNT]}]}
    trainer = CustomTrainer(
        f"{TRAINING}:train_files:train",
        func_args={"folder": MOUNT["mountPath"], "ranks": 2},
        num_nodes=2,
        resources_per_node=LITTLE,
    )

    run = Jobs(namespace).run(
        runtimes.on_host("plain-distributed", python.environment("mpi")),
        trainer,
        runtimePatches=[runtimes.patch_of_node(patch)],
    )

    first, second = accuracies(run, ranks=2)
    assert first == second > 0.9


VOLUME = {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}
MOUNT = {"name": "shared", "mountPath": "/shared"}
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: shared
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 10Mi
"""
