"""Trainings by torch, JAX, XGBoost, TRL and Lightning that are told to end or killed, and end as if they had not been.

No cluster is needed: the frameworks are, which `from_source.cluster.python` installs once.
"""

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from from_source.cluster import python
from tests.e2e.frameworks_disturbed import Ended, Training
from tests.soak_sample import sampled

STEPS = 60
HUGGING_FACE = ("trainers", "torch")
TRAININGS = {
    "fsdp2": Training("survive_torch.py", ("torch",), ("fsdp2", f"{STEPS}"), processes=2),
    "alone": Training("survive_torch.py", ("torch",), ("alone", f"{STEPS}")),
    "ddp": Training("survive_torch.py", ("torch",), ("ddp", f"{STEPS}"), processes=2),
    "jax of two": Training("survive_jax.py", ("jax",), (f"{STEPS}",), processes=2),
    "jax": Training("survive_jax.py", ("jax",), (f"{STEPS}",)),
    "xgboost of two": Training("survive_xgboost.py", ("xgboost",), (f"{STEPS}",), processes=2),
    "xgboost": Training("survive_xgboost.py", ("xgboost",), (f"{STEPS}",)),
}


def undisturbed(training: Training, folder: Path) -> str:
    """How it ends."""
    done = training.run(folder / "whole")
    assert set(done.codes) == {0}, done.err
    return done.said("ends")


def told(training: Training, place: Path, step: int) -> Ended:
    """What it says when it is told to end once a step is done; it saves the next one."""
    done = training.run(place, f"term@{step}")
    # torchrun itself ends with 1; a pod's first process makes 143 of it.
    is_torchrun = training.processes > 1 and "torch" in training.packages
    assert set(done.codes) == {1 if is_torchrun else 143}, done.err
    return done


@pytest.mark.parametrize("name", sampled(TRAININGS, every=2))
def test_told_to_end_it_goes_on_and_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    wanted = undisturbed(training, tmp_path)
    first, second = sorted(random.Random(name).sample(range(1, STEPS - 2), 2))
    assert f"told to end after step {first + 1}" in told(training, place, first).err
    again = told(training, place, max(second, first + 2))
    assert again.begins == first + 1
    resumed = training.run(place)
    assert resumed.begins == max(second, first + 2) + 1, resumed.err
    assert resumed.said("ends") == wanted


@pytest.mark.parametrize("name", sampled(reversed([*TRAININGS]), every=4))
def test_killed_it_goes_on_from_one_interval_before(name: str, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    step = random.Random(name).randrange(21, STEPS - 1)
    assert 0 not in training.run(place, f"kill@{step}").codes
    resumed = training.run(place)
    # The save of the last tenth step may not have been done.
    assert resumed.begins in {step // 10 * 10, step // 10 * 10 - 10}, resumed.err
    assert resumed.said("ends") == undisturbed(training, tmp_path)


@pytest.mark.parametrize("name", sampled(["ddp", "jax of two", "xgboost of two"], every=3))
def test_one_process_that_is_told_tells_the_others(name: str, tmp_path: Path) -> None:
    done = TRAININGS[name].run(tmp_path, "one@24")
    assert 0 not in done.codes
    assert "told to end after step 25" in done.err
    assert TRAININGS[name].run(tmp_path).begins == 25


@pytest.mark.soak
@pytest.mark.parametrize("name", TRAININGS)
def test_disturbed_ten_times_it_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    drawn = random.Random(f"ten {name}")
    step = begun = 0
    for number in range(10):
        step += drawn.randrange(2, 6)
        done = training.run(place, f"{'kill' if number % 3 == 2 else 'term'}@{step}")
        assert begun - 10 <= done.begins <= step, done.err
        begun = step
    assert training.run(place).said("ends") == undisturbed(training, tmp_path)


@pytest.mark.parametrize(
    ("name", "processes"),
    [
        ("fsdp2", 4),
        pytest.param("ddp", 4, marks=pytest.mark.soak),
        ("jax of two", 1),
        pytest.param("xgboost of two", 1, marks=pytest.mark.soak),
    ],
)
def test_another_number_of_processes_goes_on_from_the_same_weights(
    name: str, processes: int, tmp_path: Path
) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    told(training, place, 24)
    copy = tmp_path / "copy"
    shutil.copytree(place, copy)
    same, other = training.run(place), training.run(copy, processes=processes)
    assert other.said("begins") == same.said("begins"), other.err
    assert other.begins == 25
    assert f"2 processes wrote it, and there are {processes} now" in other.err
    assert set(other.codes) == {0}


@pytest.mark.parametrize("name", ["fsdp2"])
@pytest.mark.parametrize("damage", [b"", None])
def test_a_damaged_and_a_missing_shard_are_passed_over_aloud(
    name: str, damage: bytes | None, tmp_path: Path
) -> None:
    training = TRAININGS[name]
    told(training, tmp_path, 24)
    (shard,) = tmp_path.glob("step-0000000025/*/torch/rank-00001.distcp")
    if damage is None:
        shard.unlink()
    else:
        shard.write_bytes(shard.read_bytes()[:-30] + bytes(30))
    resumed = training.run(tmp_path)
    assert "the checkpoint of step 25 is damaged, and the one before is looked for: " in resumed.err
    assert resumed.begins == 20
    assert set(resumed.codes) == {0}


def test_a_checkpoint_of_another_model_is_refused_by_all_processes(tmp_path: Path) -> None:
    training = TRAININGS["ddp"]
    told(training, tmp_path, 4)
    other = replace(training, arguments=(*training.arguments, "64"))
    refused = other.run(tmp_path)
    assert (
        "of another model: models.network.0.weight is 32x16 there and 64x16 in the program"
        in refused.err
    )
    assert "begins" not in refused.out


def test_torch_itself_reads_what_was_written(tmp_path: Path) -> None:
    told(TRAININGS["fsdp2"], tmp_path, 24)
    (folder,) = tmp_path.glob("step-0000000025/*/torch")
    reading = (
        "import sys, torch; from torch.distributed.checkpoint.format_utils import dcp_to_torch_save\n"
        "dcp_to_torch_save(sys.argv[1], sys.argv[2])\n"
        "print(torch.load(sys.argv[2])['models']['network.0.weight'].shape)"
    )
    command = [sys.executable, "-c", reading, str(folder), str(tmp_path / "whole.pt")]
    env = python.variables("torch")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "torch.Size([32, 16])\n", done.stderr


def sft(folder: Path, steps: int = 10) -> Training:
    """A fine-tuning whose model is in a folder."""
    arranged = {"every_steps": 4}
    return Training("survive_sft.py", HUGGING_FACE, (str(folder), str(steps)), arranged=arranged)


def test_a_fine_tuning_goes_on_also_from_the_midst_of_an_evaluation(tmp_path: Path) -> None:
    training, place = sft(tmp_path), tmp_path / "cut"
    told(training, place, 2)
    # A negative step is one of the evaluation after it.
    again = told(training, place, -8)
    assert (again.begins, "told to end after step 8" in again.err) == (3, True), again.err
    resumed = training.run(place)
    assert (resumed.begins, resumed.said("ends")) == (8, undisturbed(training, tmp_path))


@pytest.mark.soak
def test_a_fine_tuning_of_two_processes_goes_on(tmp_path: Path) -> None:
    training, place = replace(sft(tmp_path), processes=2), tmp_path / "cut"
    wanted = undisturbed(training, tmp_path)
    told(training, place, 5)
    resumed = training.run(place)
    assert (resumed.begins, resumed.said("ends")) == (6, wanted)


LIGHTNING = Training("survive_lightning.py", HUGGING_FACE, ("3",), arranged={"every_steps": 7})


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_lightning_goes_on_in_an_epoch_and_in_a_validation(processes: int, tmp_path: Path) -> None:
    training, place = replace(LIGHTNING, processes=processes), tmp_path / "cut"
    told(training, place, 13)
    again = told(training, place, -20)
    assert (again.begins, "told to end after step 20" in again.err) == (14, True), again.err
    resumed = training.run(place)
    assert (resumed.begins, resumed.said("ends")) == (20, undisturbed(training, tmp_path))
