"""Trainings by torch, JAX, XGBoost, TRL and Lightning that are told to end or killed, and end as if they had not been.

No cluster is needed: the frameworks are, which `from_source.cluster.python` installs once.
"""

import json
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from from_source.cluster import python
from tests.e2e.frameworks_disturbed import Ended, Training
from tests.soak_sample import sampled

STEPS = 100
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


def told(training: Training, place: Path, at: str) -> tuple[Ended, int]:
    """What it says when it is told to end once a step is done, and the step that it saves: some later one."""
    done = training.run(place, at)
    assert 0 not in done.codes, done.err
    # torchrun ends with 1 whatever its processes end with; a pod's first process makes 143 of it.
    if training.processes == 1 or "torch" not in training.packages:
        assert set(done.codes) == {143}, done.err
    (step,) = re.findall(r"told to end after step (\d+)", done.err)
    return done, int(step)


@pytest.mark.parametrize("name", sampled(TRAININGS, every=4))
def test_told_to_end_it_goes_on_and_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    first = random.Random(name).randrange(1, 40)
    _, saved = told(training, place, f"term@{first}")
    # One process that is told tells the others.
    again, saved_again = told(training, place, f"one@{saved + 2}")
    assert (first < saved, again.begins, saved < saved_again) == (True, saved, True)
    resumed = training.run(place)
    assert resumed.begins == saved_again, resumed.err
    assert resumed.said("ends") == undisturbed(training, tmp_path)


@pytest.mark.parametrize("name", sampled(reversed([*TRAININGS]), every=4))
def test_killed_it_goes_on_from_one_interval_before(name: str, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    step = random.Random(name).randrange(21, STEPS - 1)
    assert 0 not in training.run(place, f"kill@{step}").codes
    resumed = training.run(place)
    # The save of the last tenth step may not have been done.
    assert resumed.begins in {step // 10 * 10, step // 10 * 10 - 10}, resumed.err
    assert resumed.said("ends") == undisturbed(training, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", TRAININGS)
def test_disturbed_ten_times_it_ends_as_if_it_had_not_been(name: str, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    training = replace(training, arguments=(*training.arguments[:-1], "400"))
    drawn = random.Random(f"ten {name}")
    begun = 0
    for number in range(10):
        step = begun + drawn.randrange(2, 20)
        done = training.run(place, f"{'kill' if number % 3 == 2 else 'term'}@{step}")
        assert 0 not in done.codes, done.err
        assert done.begins >= begun - 10, done.err
        begun = int(done.out.splitlines()[-1].removeprefix("done "))
    resumed = training.run(place)
    assert begun - 20 <= resumed.begins <= begun + 1
    assert resumed.said("ends") == undisturbed(training, tmp_path)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The place of two processes of FSDP2 that were told to end, and the step that they saved last."""
    place = tmp_path_factory.mktemp("ended") / "cut"
    return place, told(TRAININGS["fsdp2"], place, "term@24")[1]


@pytest.fixture
def cut(ended: tuple[Path, int], tmp_path: Path) -> tuple[Path, int]:
    """A copy of that."""
    return Path(shutil.copytree(ended[0], tmp_path / "cut")), ended[1]


def test_the_first_of_two_processes_remembers_their_attempt(ended: tuple[Path, int]) -> None:
    place, step = ended
    (entry,) = json.loads((place / "attempts.json").read_text())["entries"]
    found = (entry["number"], entry["first"], entry["last"], entry["how"])
    assert found == (1, 0, step, "told to end")


def test_another_number_of_processes_goes_on_from_the_same_weights(cut: tuple[Path, int]) -> None:
    place, saved = cut
    copy = shutil.copytree(place, place.with_name("copy"))
    same, other = TRAININGS["fsdp2"].run(place), TRAININGS["fsdp2"].run(copy, processes=4)
    assert other.said("begins") == same.said("begins"), other.err
    assert (other.begins, other.codes) == (saved, (0,))
    assert "2 processes wrote it, and there are 4 now" in other.err


@pytest.mark.parametrize(
    ("name", "processes"),
    [
        ("jax of two", 1),
        pytest.param("ddp", 4, marks=pytest.mark.soak),
        pytest.param("xgboost of two", 1, marks=pytest.mark.soak),
    ],
)
def test_another_number_of_processes_goes_on(name: str, processes: int, tmp_path: Path) -> None:
    training, place = TRAININGS[name], tmp_path / "cut"
    _, saved = told(training, place, "term@14")
    copy = tmp_path / "copy"
    shutil.copytree(place, copy)
    same, other = training.run(place), training.run(copy, processes=processes)
    assert other.said("begins") == same.said("begins"), other.err
    assert (other.begins, set(other.codes)) == (saved, {0})


def test_damaged_and_missing_shards_are_passed_over_aloud(cut: tuple[Path, int]) -> None:
    place, saved = cut
    (shard,) = place.glob(f"step-{saved:010}/*/torch/rank-00001.distcp")
    shard.write_bytes(shard.read_bytes()[:-30] + bytes(30))
    before = saved // 10 * 10 - (10 if saved % 10 == 0 else 0)
    (shard,) = place.glob(f"step-{before:010}/*/torch/rank-00001.distcp")
    shard.unlink()
    resumed = TRAININGS["fsdp2"].run(place)
    for step in (saved, before):
        assert f"the checkpoint of step {step} is damaged, and the one before" in resumed.err
    assert (resumed.begins, resumed.codes) == (before - 10, (0,))


def test_a_checkpoint_of_another_model_is_refused_by_all_processes(cut: tuple[Path, int]) -> None:
    training = TRAININGS["fsdp2"]
    refused = replace(training, arguments=(*training.arguments, "64")).run(cut[0])
    wanted = "models.network.0.weight is 32x16 there and 64x16 in the program"
    assert f"of another model: {wanted}" in refused.err
    assert "begins" not in refused.out


def test_torch_itself_reads_what_was_written(cut: tuple[Path, int]) -> None:
    place, saved = cut
    (folder,) = place.glob(f"step-{saved:010}/*/torch")
    reading = (
        "import sys, torch; from torch.distributed.checkpoint.format_utils import dcp_to_torch_save\n"
        "dcp_to_torch_save(sys.argv[1], sys.argv[2])\n"
        "print(torch.load(sys.argv[2])['models']['network.0.weight'].shape)"
    )
    command = [sys.executable, "-c", reading, str(folder), str(place / "whole.pt")]
    env = python.variables("torch")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "torch.Size([32, 16])\n", done.stderr


def sft(folder: Path, steps: int = 10) -> Training:
    """A fine-tuning whose model is in a folder."""
    arranged = {"every_steps": 4}
    return Training("survive_sft.py", HUGGING_FACE, (str(folder), str(steps)), arranged=arranged)


def test_a_fine_tuning_goes_on_also_from_the_midst_of_an_evaluation(tmp_path: Path) -> None:
    training, place = sft(tmp_path), tmp_path / "cut"
    _, saved = told(training, place, "term@2")
    # A negative step is one of the evaluation after it.
    again, in_evaluation = told(training, place, "term@-8")
    assert (again.begins, in_evaluation) == (saved, 8), again.err
    resumed = training.run(place)
    assert (resumed.begins, resumed.said("ends")) == (8, undisturbed(training, tmp_path))


@pytest.mark.soak
def test_a_fine_tuning_of_two_processes_goes_on(tmp_path: Path) -> None:
    training, place = replace(sft(tmp_path), processes=2), tmp_path / "cut"
    wanted = undisturbed(training, tmp_path)
    _, saved = told(training, place, "term@5")
    resumed = training.run(place)
    assert (resumed.begins, resumed.said("ends")) == (saved, wanted)


LIGHTNING = Training("survive_lightning.py", HUGGING_FACE, ("3",), arranged={"every_steps": 7})


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_lightning_goes_on_in_an_epoch_and_in_a_validation(processes: int, tmp_path: Path) -> None:
    training, place = replace(LIGHTNING, processes=processes), tmp_path / "cut"
    _, saved = told(training, place, "term@13")
    again, in_validation = told(training, place, "term@-20")
    assert (again.begins, in_validation) == (saved, 20), again.err
    resumed = training.run(place)
    assert (resumed.begins, resumed.said("ends")) == (20, undisturbed(training, tmp_path))
