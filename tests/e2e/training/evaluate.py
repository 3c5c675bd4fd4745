"""Evaluates a fine-tuned model, and fails where it is worse than it may be: a gate for what comes after it."""

# mypy: disable-error-code="import-not-found"

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from trainer_infra.report import report
from trainer_infra.storage import mounted


def evaluate(at_most: float) -> None:
    """Report the loss of the model in /workspace/model on the rows in /workspace/dataset.

    Raises:
        SystemExit: The loss is above `at_most`.
    """
    folder = mounted("/workspace/model")
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = Path(mounted("/workspace/dataset"), "train.jsonl").read_text().splitlines()[:16]
    losses = []
    with torch.no_grad():
        for each in rows:
            tokens = tokenizer(json.loads(each)["text"], return_tensors="pt")["input_ids"]
            losses.append(float(model(input_ids=tokens, labels=tokens).loss))
    loss = sum(losses) / len(losses)
    report(progress=100, loss=loss)
    if loss > at_most:
        raise SystemExit(f"the loss is {loss:.3f}, and may be {at_most} at most")
