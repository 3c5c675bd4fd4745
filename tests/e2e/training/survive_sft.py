"""TRL: supervised fine-tuning of a random Llama on rows that are made here.

Arguments: a folder, and how many steps.
"""

# mypy: disable-error-code="import-not-found"

import sys
from pathlib import Path
from typing import Any

import disturb
import tiny_llama
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import SFTConfig, SFTTrainer

from trainer_infra.callbacks import HuggingFaceCheckpointCallback


class Done(TrainerCallback):  # type: ignore[misc]  # transformers is not there for mypy
    """Says each step, and which part of an evaluation is done."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Say a step."""
        del control
        disturb.done(state.global_step, args.process_index, args.world_size)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End it in an evaluation, by a step that is none."""
        del control
        disturb.done(-state.global_step, args.process_index, args.world_size)


def train(folder: str, steps: int) -> None:
    """Tune, from a checkpoint where there is one."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    place = Path(folder)
    if not (place / "model").exists():
        tiny_llama.write_model(place / "model", 16)
        tiny_llama.write_rows(
            place / "sft", lambda number: {"text": f"{number} plus 1 is {number + 1}."}
        )
    rows, some = load_dataset(
        "json",
        data_files=str(place / "sft" / "train.jsonl"),
        split=["train", "train[:8]"],
        cache_dir=str(place / "cache"),
    )
    arguments = SFTConfig(
        output_dir=str(place / "out"),
        max_steps=steps,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=4,
        per_device_eval_batch_size=2,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
        max_length=32,
    )
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(place / "model", attention_dropout=0.1),
        processing_class=AutoTokenizer.from_pretrained(place / "model"),
        args=arguments,
        train_dataset=rows,
        eval_dataset=some,
    )
    saving = HuggingFaceCheckpointCallback(trainer)
    trainer.add_callback(Done())
    if trainer.is_world_process_zero():
        disturb.say("begins", (saving.resume_from or "-0").rpartition("-")[2])
    trainer.train(resume_from_checkpoint=saving.resume_from)
    losses = [each["loss"] for each in trainer.state.log_history if "loss" in each]
    found = disturb.digest(each.detach().numpy() for each in trainer.model.parameters())
    if trainer.is_world_process_zero():
        disturb.say("ends", steps, found, losses[-1])


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]))
