"""`tune run` for a controller that is the reference: it has no output_dir, and the runtime's data in its arguments."""

from typing import Any

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import REFERENCE
from trainer_infra.trainers import kept_outputs

RUNTIME = catalog.get("torchtune-llama3.2-1b")


def tuned(*args: str, command: tuple[str, ...] = ("tune", "run")) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "n"},
        "spec": {
            "runtimeRef": {"name": RUNTIME.metadata.name},
            "trainer": {"command": list(command), "args": list(args), "numNodes": 1},
        },
    }


def args_of(job: dict[str, Any]) -> list[str]:
    found: list[str] = job["spec"]["trainer"]["args"]
    return found


def test_the_reference_reads_the_data_of_the_runtime_from_the_arguments() -> None:
    given = tuned("epochs=1", "output_dir=output://model", "dataset.packed=True")
    made = kept_outputs.as_the_reference_takes_it(given, RUNTIME)
    assert args_of(made) == [
        "dataset=torchtune.datasets.instruct_dataset",
        "dataset.source=parquet",
        "dataset.data_dir=/workspace/dataset/data",
        "epochs=1",
        "dataset.packed=True",
    ]
    assert pipeline.render(TrainJob.from_wire(made), RUNTIME, REFERENCE)


def test_an_own_folder_is_left_for_the_reference_to_refuse() -> None:
    made = kept_outputs.as_the_reference_takes_it(tuned("output_dir=/data/out"), RUNTIME)
    problems = pipeline.rendering_problems(TrainJob.from_wire(made), RUNTIME, REFERENCE)
    assert ["output_dir" in each.what for each in problems] == [True]


def test_another_command_is_left_alone() -> None:
    given = tuned("output_dir=output://model", command=("python", "t.py"))
    assert kept_outputs.as_the_reference_takes_it(given, RUNTIME) == given
    assert kept_outputs.with_output_dir(given, ["model"]) == given
    assert list(kept_outputs.unwritten_outputs(given, {"model": "s3://a/b"})) == []
