"""A Llama of two layers with random weights, and sentences to tune it with: small enough for a laptop."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

from trainer_infra.storage import output

BEGIN, END, PADDING = SPECIAL = ["<s>", "</s>", "<pad>"]
SEED = 2
"""Of the weights, so that the same accuracy comes out each time."""


def make(rows: int) -> None:
    """Write model and tokenizer to the output `model`, and so many sentences to `dataset`."""
    set_seed(SEED)
    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(output("model"))
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(output("model"))
    texts = (f"{number} plus 1 is {number + 1}." for number in range(rows))
    lines = (json.dumps({"text": text}) + "\n" for text in texts)
    Path(output("dataset"), "train.jsonl").write_text("".join(lines))


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One whose tokens are the bytes of a text."""
    bytes_alone = Tokenizer(models.BPE())
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(initial_alphabet=alphabet, special_tokens=SPECIAL)
    bytes_alone.train_from_iterator([], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bytes_alone, bos_token=BEGIN, eos_token=END, pad_token=PADDING
    )
