"""Made on the spot: a Llama of two layers with random weights, its tokenizer, and data to tune it with.

`python tiny_llama.py FOLDER [WIDTH]` writes `model` and `sft`, `preferences` and `alpaca`, datasets as JSON lines, of which
LLaMA-Factory knows the last one as `sums`.
torchtune's tokenizer wants a vocabulary of Llama 3's size; transformers reads another one of the same model.
"""

# mypy: disable-error-code="import-not-found"

import base64
import json
import sys
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

ROWS = 64
VOCABULARY = 128256
"""Of Llama 3, with its special tokens."""
TEMPLATE = (
    "{% for each in messages %}{{ each['role'] + ': ' + each['content'] + eos_token }}{% endfor %}"
)


def main(folder: Path, width: int = 32) -> None:
    """Write all of it."""
    write_model(folder / "model", width)
    write_rows(folder / "sft", lambda number: {"text": f"{number} plus 1 is {number + 1}."})
    write_rows(
        folder / "preferences",
        lambda number: {
            "prompt": f"What is {number} plus 1?",
            "chosen": f" {number + 1}",
            "rejected": f" {number}",
        },
    )
    write_rows(
        folder / "alpaca",
        lambda number: {"instruction": f"Add 1 to {number}", "output": str(number + 1)},
    )
    columns = {"prompt": "instruction", "response": "output"}
    known = {"sums": {"file_name": "train.jsonl", "columns": columns}}
    (folder / "alpaca" / "dataset_info.json").write_text(json.dumps(known))


def write_model(folder: Path, width: int) -> None:
    """The model, its layers so wide, with a tokenizer for transformers and one for torchtune."""
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    characters = Tokenizer(models.BPE())
    characters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    characters.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<pad>"]
    trainer = trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=special)
    characters.train_from_iterator(["What is 1 plus 1?"], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=characters, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    bytes_alone = (f"{base64.b64encode(bytes([each])).decode()} {each}\n" for each in range(256))
    (folder / "original").mkdir()
    (folder / "original" / "tokenizer.model").write_text("".join(bytes_alone))


def write_rows(folder: Path, row: Any) -> None:
    """A dataset of one file."""
    folder.mkdir()
    lines = (f"{json.dumps(row(number))}\n" for number in range(ROWS))
    (folder / "train.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
