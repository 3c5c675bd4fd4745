"""Loads merged models and the adapters below them, with the base that each names: prints whether they say the same.

`python load_merged.py FIRST SECOND SAME`, of which SAME is whether a third model says what the first does.
"""

# mypy: disable-error-code="import-not-found"

import json
import sys

import torch
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM


def is_like(model: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Whether two models answer alike."""
    rows = torch.arange(3, 35).reshape(2, 16)
    with torch.no_grad():
        return bool(torch.allclose(model(rows).logits, other(rows).logits, atol=1e-4))


def is_merged(folder: str) -> bool:
    """Whether the model has its adapter in its weights, and the adapter finds its base."""
    merged = AutoModelForCausalLM.from_pretrained(folder)
    return is_like(merged, AutoPeftModelForCausalLM.from_pretrained(f"{folder}/adapter"))


if __name__ == "__main__":
    first, second, third = sys.argv[1:]
    found = {
        "first": is_merged(first),
        "second": is_merged(second),
        "same": is_like(
            AutoModelForCausalLM.from_pretrained(first), AutoModelForCausalLM.from_pretrained(third)
        ),
    }
    print(json.dumps(found))  # noqa: T201  read by the test
