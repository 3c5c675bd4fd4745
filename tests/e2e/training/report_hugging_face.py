"""transformers: a random Llama of two layers on made tokens, with our callback beside that of transformers."""

# mypy: disable-error-code="import-not-found,misc"

import sys
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from trainer_infra.callbacks import HuggingFaceCallback

SHAPE = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}


class Tokens(Dataset):
    """Eighty rows of sixteen tokens."""

    def __len__(self) -> int:
        return 80

    def __getitem__(self, index: int) -> dict[str, Any]:
        tokens = torch.arange(index, index + 16) % 64
        return {"input_ids": tokens, "labels": tokens}


def train() -> None:
    """Train for twenty steps, and evaluate after ten."""
    arguments = TrainingArguments(
        output_dir="out",
        max_steps=20,
        per_device_train_batch_size=4,
        logging_steps=5,
        eval_strategy="steps",
        eval_steps=10,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=LlamaForCausalLM(
            LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, **SHAPE)
        ),
        args=arguments,
        train_dataset=Tokens(),
        eval_dataset=Tokens(),
        callbacks=[HuggingFaceCallback()],
    )
    beside = sorted(type(each).__name__ for each in trainer.callback_handler.callbacks)
    sys.stdout.write(f"callbacks: {beside}\n")
    trainer.train()


if __name__ == "__main__":
    train()
