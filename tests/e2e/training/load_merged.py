"""Loads merged models and the adapters below them, with the base that each names: prints whether they say the same.

`python load_merged.py FIRST SECOND`
"""

# mypy: disable-error-code="import-not-found"

import json
import sys

import torch
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM


def is_merged(folder: str) -> bool:
    """Whether the model has its adapter in its weights, and the adapter finds its base."""
    rows = torch.arange(3, 35).reshape(2, 16)
    with torch.no_grad():
        merged = AutoModelForCausalLM.from_pretrained(folder)(rows).logits
        apart = AutoPeftModelForCausalLM.from_pretrained(f"{folder}/adapter")(rows).logits
    return bool(torch.allclose(merged, apart, atol=1e-4))


if __name__ == "__main__":
    found = dict(zip(("first", "second"), map(is_merged, sys.argv[1:]), strict=True))
    print(json.dumps(found))  # noqa: T201  read by the test
