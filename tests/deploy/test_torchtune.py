"""Fine-tuning on a torchtune runtime reads the data that was fetched, and writes where the run's outputs are."""

import re

import pytest

from tests.deploy.project import Stack

JOB = """
from trainer_infra import TorchTune
sources = {{"dataset": {{"storageUri": "hf://tatsu-lab/alpaca/data"}},
           "model": {{"storageUri": "hf://meta-llama/Llama-3.2-1B-Instruct"}}}}
TrainJob("tuned", runtime="torchtune-llama3.2-1b", initializer=sources,
         trainer={trainer}, outputs={outputs})
"""


def shown(stack: Stack, trainer: str, outputs: str, *, ok: bool = True) -> str:
    stack.program(JOB.format(trainer=trainer, outputs=outputs))
    stack.run("config", "set", "trainer:target", "kubernetes")
    return stack.preview(ok=ok)


@pytest.mark.parametrize(
    ("trainer", "outputs", "written"),
    [
        (
            "TorchTune(epochs=1)",
            '{"model": "pvc://models/tuned"}',
            "/opt/trainer-infra/outputs/model",
        ),
        (
            'TorchTune(epochs=1, output="output://weights/best")',
            '{"weights": "pvc://models/tuned"}',
            "/opt/trainer-infra/outputs/weights/best",
        ),
        ('TorchTune(epochs=1, output="/workspace/output")', "None", "/workspace/output"),
        (
            '{"command": ["tune", "run"], "args": ["output_dir=output://model"], "numNodes": 1}',
            '{"model": "pvc://models/tuned"}',
            "/opt/trainer-infra/outputs/model",
        ),
        (
            '{"command": ["tune", "run"], "numNodes": 1}',
            '{"model": "pvc://models/tuned"}',
            "/opt/trainer-infra/outputs/model",
        ),
    ],
    ids=[
        "default",
        "another output",
        "the run's own folder",
        "in wire form",
        "unsaid in wire form",
    ],
)
def test_a_recipe_reads_the_fetched_data_and_writes_to_the_output(
    stack: Stack, trainer: str, outputs: str, written: str
) -> None:
    said = shown(stack, trainer, outputs)
    assert f"output_dir={written}" in said
    after = re.findall(r'"llama3_2/1B_full"((?:\s*\[\d+\]: "[^"]*")*)', said)
    commands = [re.findall(r': "([^"]*)"', each) for each in after]
    kept = [
        "dataset=torchtune.datasets.instruct_dataset",
        "dataset.source=parquet",
        "dataset.data_dir=/workspace/dataset/data",
        "tokenizer.path=/workspace/model/original/tokenizer.model",
        "checkpointer.checkpoint_dir=/workspace/model",
    ]
    assert kept in commands


@pytest.mark.parametrize(
    ("trainer", "outputs", "problem"),
    [
        ("TorchTune(epochs=1)", "None", "outputs: has no 'model', where the trainer writes"),
        (
            'TorchTune(epochs=1, output="/workspace/output")',
            '{"model": "pvc://models/tuned"}',
            "outputs['model']: is written by nothing: torchtune writes to output_dir",
        ),
        (
            '{"command": ["tune", "run"], "args": ["epochs=1"], "numNodes": 1}',
            '{"weights": "pvc://models/tuned"}',
            "outputs['weights']: is written by nothing",
        ),
        (
            "TorchTune(epochs=1)",
            '{"model": "s3://models/tuned"}',
            "outputs['model']: must be a folder: torchtune writes into one",
        ),
    ],
    ids=["no output", "another folder", "wire form", "bucket"],
)
def test_an_output_that_nothing_writes_is_refused(
    stack: Stack, trainer: str, outputs: str, problem: str
) -> None:
    assert problem in shown(stack, trainer, outputs, ok=False)
