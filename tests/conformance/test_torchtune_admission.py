"""Reference behaviour 3.3 and 5.1: what TorchTune's validation refuses."""

from typing import Any

import pytest

from tests.conformance import admission, objects
from tests.conformance.admission import Refusal
from tests.conformance.places import Place
from tests.conformance.rules import rule

JSON = dict[str, Any]

LLAMA, LARGE, QWEN = "torchtune-llama3.2-1b", "torchtune-llama3.3-70b", "torchtune-qwen2.5-1.5b"
NODES = "spec.trainer.numNodes"
LORA = ["model.lora_attn_modules=[q_proj]"]
QLORA = [*LORA, "model.quantize_base=True"]
LORA_NODES = Refusal(
    NODES, "LoRA fine-tuning is not supported for multi-node training in TorchTune"
)
MODEL = "must have a supported pretrained model, invalid model configured: "


def only_the_runtime_sets(index: int, key: str) -> Refusal:
    return Refusal(
        f"spec.trainer.args[{index}]",
        f'must not set immutable config "{key}" in trainer args; it is managed by the runtime',
    )


REFUSED = {
    "a model that is not known": pytest.param(
        "torchtune-llama3.2-7b",
        {},
        [Refusal("spec.runtimeRef.name", f"{MODEL}llama3_2/7B")],
        marks=rule("5.1-torchtune-model"),
    ),
    "a name of another form": pytest.param(
        "runtime", {}, [Refusal("spec.runtimeRef.name", MODEL)], marks=rule("5.1-torchtune-model")
    ),
    "several nodes": pytest.param(
        LLAMA,
        {"numNodes": 2},
        [Refusal(NODES, "must be 1 for llama3_2/1B model")],
        marks=rule("5.1-torchtune-nodes"),
    ),
    "QLoRA of a model without it": pytest.param(
        QWEN,
        {"args": QLORA, "numProcPerNode": 1},
        [Refusal("spec.runtimeRef.name", "QLoRA is not supported for qwen2_5/1.5B model")],
        marks=rule("5.1-torchtune-qlora-model"),
    ),
    "QLoRA in several processes": pytest.param(
        LLAMA,
        {"args": QLORA, "numProcPerNode": 2},
        [
            Refusal(
                "spec.trainer.numProcPerNode",
                "must be auto or 1 for llama3_2/1B model when using QLoRA",
            ),
            Refusal(
                "spec.trainer.resourcesPerNode",
                "must have gpu resource with value 1 for llama3_2/1B model when using QLoRA",
            ),
        ],
        marks=rule("5.1-torchtune-qlora-device"),
    ),
    "LoRA on several nodes": pytest.param(
        LARGE, {"args": LORA, "numNodes": 2}, [LORA_NODES], marks=rule("5.1-torchtune-lora-nodes")
    ),
    "QLoRA on several nodes": pytest.param(
        LARGE, {"args": QLORA, "numNodes": 2}, [LORA_NODES], marks=rule("5.1-torchtune-lora-nodes")
    ),
    "arguments of the runtime": pytest.param(
        LLAMA,
        {
            "args": [
                "epochs=1",
                "tokenizer.path=/a",
                "tokenizer.merges_file=/a",
                "checkpointer.checkpoint_dir=/a",
            ]
        },
        [
            only_the_runtime_sets(1, "tokenizer.path"),
            only_the_runtime_sets(2, "tokenizer.merges_file"),
            only_the_runtime_sets(3, "checkpointer.checkpoint_dir"),
        ],
        marks=rule("5.1-torchtune-args"),
    ),
}

ACCEPTED = {
    "each known model": pytest.param(LARGE, {}, marks=rule("5.1-torchtune-model")),
    "several nodes of the largest": pytest.param(
        LARGE, {"numNodes": 2}, marks=rule("5.1-torchtune-nodes")
    ),
    "QLoRA on one device": pytest.param(
        LLAMA, {"args": QLORA, "numProcPerNode": 1}, marks=rule("5.1-torchtune-qlora-device")
    ),
    "QLoRA on one GPU": pytest.param(
        LLAMA,
        {"args": QLORA, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "1"}}},
        marks=rule("5.1-torchtune-qlora-device"),
    ),
    "LoRA with DoRA, which is not QLoRA": pytest.param(
        QWEN,
        {"args": [*QLORA, "model.use_dora=true"], "numProcPerNode": 1},
        marks=rule("5.1-torchtune-qlora-model"),
    ),
}


def submitted(place: Place, name: str, trainer: JSON) -> Any:
    place.add(objects.runtime(name))
    tuned = {"command": ["tune", "run"], **trainer}
    return place.submit(objects.train_job(runtime=name, trainer=tuned))


@pytest.mark.parametrize(("name", "trainer", "mistakes"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(place: Place, name: str, trainer: JSON, mistakes: list[Refusal]) -> None:
    admission.assert_refused(place, submitted(place, name, trainer), admission.TRAIN_JOB, *mistakes)


@pytest.mark.parametrize(("name", "trainer"), ACCEPTED.values(), ids=ACCEPTED)
def test_it_accepts(place: Place, name: str, trainer: JSON) -> None:
    assert submitted(place, name, trainer).message == ""
