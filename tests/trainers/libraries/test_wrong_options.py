"""What a library's program would refuse is refused at preview, with what to do."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trainer_infra.api.secret import Secret
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers.container_trainer import ContainerTrainer
from trainer_infra.trainers.libraries.llama_factory import LlamaFactory
from trainer_infra.trainers.libraries.torchtune import TorchTune
from trainer_infra.trainers.libraries.trl import METHODS, Trl
from trainer_infra.trainers.libraries.unsloth import Unsloth
from trainer_infra.trainers.trainer import PackableTrainer

TRL = "trl sft of trl 1.16.0 has no such option"
TUNE = "tune run of torchtune 0.6.1 has no such option"
ALONE = ("full_finetune_single_device", "llama3_2/1B_full_single_device")
PATH = Path("/a")
MODULES = "must be a list with something in it"
GIVE = 'give ["q_proj", "v_proj"]'
NONE = "is None, which is not handed over: the library would take"
TEXT = "must be a text with something in it"
NOT_JSON = "has type pathlib.PosixPath, which does not travel as JSON"
DPO = ("lora_dpo_distributed", "llama3_1/8B_lora_dpo")


TRAINERS: Any = SimpleNamespace(
    trl=Trl,
    tune=TorchTune,
    factory=LlamaFactory,
    unsloth=Unsloth,
    container=ContainerTrainer,
)
"""Classes without their types, which forbid most of this."""


def sft(**options: object) -> Trl:
    return Trl("sft", options=options)


def factory(stage: str = "sft", lora: object = None, **options: object) -> Any:
    return TRAINERS.factory(stage, template="qwen", dataset="a", lora=lora, options=options)


REFUSED: list[tuple[PackableTrainer, str]] = [
    (TRAINERS.trl("sfd"), "method: is not one of TRL's, got 'sfd'; did you mean sft?"),
    (
        TRAINERS.trl(np.array([1, 2])),
        f"method: is not one of TRL's, got [1, 2]; use {', '.join(sorted(METHODS))}",
    ),
    (sft(learning_rat=1), f"options.learning_rat: {TRL}, got 1; did you mean learning_rate?"),
    (sft(lr=1e-4), f"options.lr: {TRL}, got 0.0001; did you mean learning_rate?"),
    (sft(max_steps="5"), "options.max_steps: must be a whole number, got '5'; write 5"),
    (sft(max_steps=5.5), "options.max_steps: must be a whole number, got 5.5"),
    (sft(bf16="yes"), "options.bf16: must be true or false, got 'yes'"),
    (sft(bf16="True"), "options.bf16: must be true or false, got 'True'; write True"),
    (sft(bf16=1), "options.bf16: must be true or false, got 1"),
    (sft(seed=True), "options.seed: must be a whole number, got True"),
    (sft(learning_rate="fast"), "options.learning_rate: must be a number, got 'fast'"),
    (
        sft(lr_scheduler_type="cosin"),
        "options.lr_scheduler_type: is not one of its values, got 'cosin'; did you mean cosine?",
    ),
    (
        sft(dtype="fp4"),
        "options.dtype: is not one of its values, got 'fp4'; use auto, bfloat16, float16, float32",
    ),
    (
        sft(output_dir="x"),
        "options.output_dir: is set by the trainer itself; give output= of the trainer",
    ),
    (
        sft(lora_target_modules="all"),
        "options.lora_target_modules: must be a list with something in it, got 'all'",
    ),
    (
        TRAINERS.trl("sft", lora={"target_modules": "all"}),
        f"lora.target_modules: {MODULES}, got 'all'; give [\"all-linear\"]",
    ),
    (
        sft(epochs=1),
        "options.epochs: trl sft of trl 1.16.0 has no such option, got 1; did you mean num_train_epochs?",
    ),
    (
        factory(lr=0.1),
        (
            "options.lr: llamafactory-cli train of llamafactory 0.9.5 has no such option, got 0.1; did you mean "
            "learning_rate?"
        ),
    ),
    (
        TRAINERS.unsloth(lora={"target_modules": 5}),
        f"lora.target_modules: {MODULES}, got 5; {GIVE}",
    ),
    (
        TRAINERS.tune(lora={"target_modules": "q_proj"}),
        f"lora.target_modules: {MODULES}, got 'q_proj'; give [\"q_proj\"]",
    ),
    (
        factory(lora={"target_modules": []}),
        f"lora.target_modules: {MODULES}, got []; {GIVE}",
    ),
    (
        factory(lora={"target_modules": ["a,b"]}),
        (
            "lora.target_modules[0]: must be the name of a layer, got 'a,b'; "
            "give a text without commas and spaces"
        ),
    ),
    (
        TRAINERS.unsloth(lora={"target_modules": [1]}),
        (
            "lora.target_modules[0]: must be the name of a layer, got 1; "
            "give a text without commas and spaces"
        ),
    ),
    (sft(run_name=["a"]), "options.run_name: must be a text, got ['a']"),
    (
        sft(hub_token=Secret("hf_1")),
        (
            "options.hub_token: a program's options can be read by anyone; "
            "pass it in env, under the variable that the library reads"
        ),
    ),
    (TRAINERS.trl("sft", options=["a"]), "options: must be a mapping with text keys, got ['a']"),
    (
        TRAINERS.trl("sft", lora={"rank": 8}),
        "lora.rank: is not known; use r, lora_alpha, lora_dropout, target_modules, use_dora, quantize",
    ),
    (TRAINERS.trl("sft", lora={"r": "8"}), "lora.r: must be a whole number, got '8'; write 8"),
    (TRAINERS.trl("sft", lora=8), 'lora: must be a mapping, got 8; give {"r": 8}'),
    (
        TRAINERS.trl("sft", lora={"quantize": "2bit"}),
        "lora.quantize: is not a valid precision, got '2bit'; use 4bit or 8bit",
    ),
    (sft(max_length=None), f"options.max_length: {NONE} 1024; leave it out, or give the value"),
    (
        TRAINERS.trl("sft", output=None),
        f"output: {TEXT}, not None; leave it out for output://model",
    ),
    (TRAINERS.tune(output=""), f"output: {TEXT}, got ''; leave it out for output://model"),
    (TRAINERS.trl("sft", model=""), f"model: {TEXT}, got ''; leave it out for /workspace/model"),
    (
        TRAINERS.unsloth(dataset=PATH),
        f"dataset: {TEXT}, got PosixPath('/a'); give str(path)",
    ),
    (
        TRAINERS.factory("sft", template="", dataset="a"),
        f"template: {TEXT}, got ''",
    ),
    (
        sft(lr_scheduler_kwargs={"a": PATH}),
        f"options.lr_scheduler_kwargs.a: {NOT_JSON}, got PosixPath('/a'); give str(path)",
    ),
    (
        sft(lr_scheduler_kwargs={1: 2}),
        (
            "options.lr_scheduler_kwargs: has a key that is not text, which JSON would turn into text, "
            "got 1; use text keys"
        ),
    ),
    (TRAINERS.trl("sft", num_nodes=0), "num_nodes: must be a whole number from 1, got 0"),
    (
        TRAINERS.trl("sft", packages=["peft"]),
        (
            "packages[0]: has no exact version, so the same job could train with other code, got 'peft'; "
            'write name==version, for example "jax[cpu]==0.9.0", or give a lock file that `trainer-infra lock` makes'
        ),
    ),
    (
        TRAINERS.tune(options={"optimizer.l": 1}),
        f"options.optimizer.l: {TUNE}, got 1; did you mean optimizer.lr?",
    ),
    (TRAINERS.tune(epochs="2"), "epochs: must be a whole number, got '2'; write 2"),
    (
        TRAINERS.tune(options={"output_dir": "x"}),
        "options.output_dir: is set by the trainer itself; give output= of the trainer",
    ),
    (
        TRAINERS.tune(options={"config": "x"}),
        "options.config: is set by the trainer itself; leave it out: the runtime says it",
    ),
    (
        TRAINERS.tune(options={"model.lora_rank": 4}),
        f"options.model.lora_rank: {TUNE}, got 4; leave it out",
    ),
    (
        TRAINERS.tune("lora_dpo", DPO[1]),
        "recipe: is not one of torchtune's training recipes, got 'lora_dpo'; did you mean lora_dpo_distributed?",
    ),
    (
        TRAINERS.tune(DPO[0], "llama3_1/8B_lora"),
        (
            "config: is not one of lora_dpo_distributed, got 'llama3_1/8B_lora'; "
            "did you mean llama3_1/8B_lora_dpo?"
        ),
    ),
    (
        TRAINERS.tune(config="llama3_2/1B_full"),
        "config: belongs to a recipe, and none is given; give recipe=",
    ),
    (
        TRAINERS.tune(options={"dataset": "a.b", "dataset.path": PATH}),
        f"options.dataset.path: {NOT_JSON}, got PosixPath('/a'); give str(path)",
    ),
    (
        TRAINERS.tune(*ALONE, num_nodes=3),
        f"num_nodes: must be 1: {ALONE[0]} trains in one process, got 3; leave it out",
    ),
    (
        TRAINERS.tune(*ALONE, num_proc_per_node=4),
        f"num_proc_per_node: must be 1: {ALONE[0]} trains in one process, got 4; leave it out",
    ),
    (
        TRAINERS.tune("lora_finetune_distributed", "llama3_2/1B_lora", num_nodes=2),
        (
            "num_nodes: must be 1: lora_finetune_distributed trains LoRA, which torchtune does on one "
            "node, got 2; leave it out"
        ),
    ),
    (
        factory(lora={"r": 8}, finetuning_type="oft"),
        (
            "options.finetuning_type: is set by the trainer itself; "
            "give it or lora= of the trainer, not both"
        ),
    ),
    (
        factory(finetuning_type="frezee"),
        "options.finetuning_type: is not one of its values, got 'frezee'; did you mean freeze?",
    ),
    (
        factory(do_train=False),
        "options.do_train: is set by the trainer itself; leave it out: the trainer trains",
    ),
    (
        factory(cutof_len=9),
        (
            "options.cutof_len: llamafactory-cli train of llamafactory 0.9.5 has no such option, got 9; "
            "did you mean cutoff_len?"
        ),
    ),
    (
        factory("grpo"),
        "stage: is not one of its values, got 'grpo'; use dpo, kto, ppo, pt, rm, sft",
    ),
    (
        Unsloth(num_nodes=2),
        "num_nodes: must be 1: Unsloth trains in one process, got 2; leave it out",
    ),
    (
        TRAINERS.unsloth(num_nodes=[1]),
        "num_nodes: must be 1: Unsloth trains in one process, got [1]; leave it out",
    ),
    (
        Unsloth(options={"max_seq_len": 9}),
        (
            "options.max_seq_len: unsloth train of unsloth 2026.10.9 has no such option, got 9; "
            "did you mean max_seq_length?"
        ),
    ),
    (TRAINERS.container(command="train"), "command: must be a list of texts, got 'train'"),
    (
        TRAINERS.tune(lora={"r": 4, "quantize": "8bit"}),
        "lora.quantize: is not a valid precision, got '8bit'; use 4bit",
    ),
    (
        Unsloth(lora={"quantize": "8bit"}),
        "lora.quantize: is not a valid precision, got '8bit'; use 4bit",
    ),
    (
        TRAINERS.container(args=[1]),
        'args[0]: must be text, not int, got 1; quote it: "1"',
    ),
    (TRAINERS.container(image=""), "image: must be an image's name, got ''"),
]


@pytest.mark.parametrize(("trainer", "message"), REFUSED, ids=[each for _, each in REFUSED])
def test_it_is_refused(trainer: PackableTrainer, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        trainer.pack()
    assert str(caught.value) == message


def test_all_problems_are_said_at_once() -> None:
    lora = {"r": 1.5, "rank": 8}
    trainer = TRAINERS.trl("sft", lora=lora, options={"seed": "1", "optm": "x"}, num_nodes=-1)
    with pytest.raises(InvalidInput) as caught:
        trainer.pack()
    assert [each.path for each in caught.value.problems] == [
        "lora.rank",
        "lora.r",
        "options.seed",
        "options.optm",
        "num_nodes",
    ]
