"""Trainings by torch, JAX, XGBoost, TRL and Lightning that are told to end or killed, and end as if they had not been.

No cluster is needed: the frameworks are, which `from_source.cluster.python` installs once.
"""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from from_source.cluster import python
from tests.e2e.frameworks_disturbed import ROOT, Training
from tests.soak_sample import sampled

TORCH = {
    "alone": Training("survive_torch.py", ("torch",), ("alone", "60")),
    "ddp": Training("survive_torch.py", ("torch",), ("ddp", "60"), processes=2),
    "fsdp2": Training("survive_torch.py", ("torch",), ("fsdp2", "60"), processes=2),
}
OTHERS = {
    "jax": Training("survive_jax.py", ("jax",), ("60",)),
    "jax of two": Training("survive_jax.py", ("jax",), ("60",), processes=2),
    "xgboost": Training("survive_xgboost.py", ("xgboost",), ("60",)),
    "xgboost of two": Training("survive_xgboost.py", ("xgboost",), ("60",), processes=2),
}
TRAININGS = {**TORCH, **OTHERS}


@pytest.mark.parametrize("name", sampled(["fsdp2", "alone", "ddp"], every=3) + sampled(list(OTHERS)[1::2] + list(OTHERS)[::2], every=2))
def test_told_to_end_it_ends_with_143_and_then_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    training = TRAININGS[name]
    undisturbed = training.run(tmp_path / "whole").said("ends")
    step = random.Random(name).randrange(1, 55)
    told = training.run(tmp_path / "cut", f"term@{step}")
    # torchrun itself ends with 1.
    is_torchrun = training.processes > 1 and "torch" in training.packages
    assert set(told.codes) == {1 if is_torchrun else 143}, told.err
    assert f"told to end after step {step + 1}" in told.err
    resumed = training.run(tmp_path / "cut")
    assert resumed.begins == step + 1, resumed.err
    assert resumed.said("ends") == undisturbed
