"""Loads an adapter onto its model, merges both, saves and loads them again: prints what came of it, as JSON.

`python load_adapter.py MODEL ADAPTER`
"""

# mypy: disable-error-code="import-not-found"

import json
import sys
import tempfile

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM


def main(model: str, adapter: str) -> None:
    """Compare the outputs."""
    rows = torch.arange(3, 35).reshape(2, 16)
    with torch.no_grad():
        plain = AutoModelForCausalLM.from_pretrained(model)(rows).logits
        tuned = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model), adapter)
        outputs = tuned(rows).logits
        again = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model), adapter)
        same = again(rows).logits
        with tempfile.TemporaryDirectory() as folder:
            tuned.merge_and_unload().save_pretrained(folder)
            merged = AutoModelForCausalLM.from_pretrained(folder)(rows).logits
    found = {
        "trained": float((outputs - plain).abs().max()) > 0,
        "loaded again": torch.equal(outputs, same),
        "merged": torch.allclose(outputs, merged, atol=1e-5),
    }
    print(json.dumps(found))  # noqa: T201  read by the test


if __name__ == "__main__":
    main(*sys.argv[1:])
