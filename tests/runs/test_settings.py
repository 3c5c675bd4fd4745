"""With which settings a run trains, as its TrainJob says them: whoever asks, wherever it runs."""

from dataclasses import replace
from typing import Any

import pytest

from tests.local.jobs import Job
from trainer_infra import CustomTrainer, Secret, Trl, catalog, names
from trainer_infra.cluster.controller.job_store import JOBS
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.json_values import JSONDict
from trainer_infra.runs import settings
from trainer_infra.runs.settings import RunSettings, settings_of, word_arguments
from trainer_infra.trainers import compose
from trainer_infra.trainers.trainer import PackableTrainer


def train(rate: float, depth: int = 3, *, layers: tuple[int, ...] = (2, 2), key: str = "") -> None:
    """What the jobs below run."""


def wide(**values: int) -> None:
    """One with any arguments."""


def job_of(trainer: PackableTrainer, runtime: str = "torch-distributed", **spec: Any) -> JSONDict:
    """The TrainJob that a trainer becomes."""
    packed = trainer.pack()
    job = {
        "apiVersion": names.API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "team"},
        "spec": {"runtimeRef": {"name": runtime}, "trainer": packed.trainer, **spec},
    }
    made = compose.compose(job, catalog.get(runtime), packed.code, packed.secret_data)
    return made.job.to_wire()


def test_a_function_has_its_arguments_its_defaults_and_its_packages() -> None:
    found = settings_of(
        job_of(
            CustomTrainer(
                train,
                func_args={"rate": 0.3, "key": Secret("abc-123-def")},
                packages=["numpy==2.3.5", "jax[cpu]==0.9.0"],
                image="team/image:7",
                num_nodes=2,
                resources_per_node={"cpu": 4, "gpu": 1},
                env={"MODE": "fast", "TOKEN": Secret("xyz-987-uvw")},
            )
        )
    )
    assert found == RunSettings(
        runtime="torch-distributed",
        arguments={"rate": 0.3},
        defaults={"depth": 3, "layers": [2, 2], "key": ""},
        secret_arguments=True,
        packages=("jax[cpu]==0.9.0", "numpy==2.3.5"),
        image="team/image:7",
        env={"MODE": "fast", "TOKEN": "secret digits-secret env.TOKEN"},
        nodes=2,
        resources={"cpu": "4", "nvidia.com/gpu": "1"},
    )


def test_a_library_has_the_options_of_its_command_line() -> None:
    job = job_of(
        Trl("sft", dataset="trl-lib/Capybara", model="Qwen/Qwen3-0.6B", options={"max_steps": 5})
    )
    found = settings_of(job).arguments
    assert (found["max_steps"], found["dataset_name"]) == ("5", "trl-lib/Capybara")


def test_a_job_of_yaml_has_its_command_and_what_it_says_by_name() -> None:
    command = ["torchrun", "--nnodes=2", "/app/train.py", "--lr", "0.1"]
    job = Job(command).submission().job
    job = {**job, "spec": {**job["spec"], "initializer": {"model": {"storageUri": "hf://a/b"}}}}
    found = settings_of(job)
    assert found.command == tuple(command)
    assert found.arguments == {"lr": "0.1"}
    assert found.inputs == {"model": "hf://a/b"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--lr", "0.1", "--depth=5"], {"lr": "0.1", "depth": "5"}),
        (["-l", "0.1", "-v"], {"l": "0.1", "v": "true"}),
        (["--lr", "1e-3", "data", "out"], {"lr": "1e-3", "1": "data", "2": "out"}),
        (["--modules", "q", "v", "--x"], {"modules": "q v", "x": "true"}),
        (["--shift", "-0.5"], {"shift": "-0.5"}),
        (["--layers", "1", "2", "--fast"], {"layers": "1 2", "fast": "true"}),
        (["--tag", "a", "--tag", "b"], {"tag": "a b"}),
        (["lr=0.1", "optimizer.lr=2e-5", "+extra=1", "~gone="], None),
        (["data/x", "out"], {"1": "data/x", "2": "out"}),
        (["--text=two words", "--empty="], {"text": "two words", "empty": ""}),
        (["https://host/a?b=c"], {"1": "https://host/a?b=c"}),
        ([], {}),
    ],
)
def test_words_of_a_command_line_are_arguments(
    words: list[str], expected: dict[str, str] | None
) -> None:
    expected = expected if expected is not None else {
        "lr": "0.1", "optimizer.lr": "2e-5", "extra": "1", "gone": "",
    }  # fmt: skip
    assert dict(word_arguments(words)) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["torchrun", "--nnodes=2", "t.py", "--lr", "0.1"], {"lr": "0.1"}),
        (["python", "t.py", "--lr=0.1", "data"], {"lr": "0.1", "1": "data"}),
        (["python", "-m", "pkg.train", "--lr", "0.1"], {"lr": "0.1"}),
        (["bash", "-c", "pip install x && python t.py --lr 0.1 --out $OUT"], {"lr": "0.1", "out": "…"}),
        (["accelerate", "launch", "--num_processes", "2", "t.py", "--lr", "0.1"], {"lr": "0.1"}),
        (["mpirun", "-n", "2", "python", "t.py", "--lr", "0.1"], {"lr": "0.1"}),
        (["env", "A=b", "python", "t.py", "lr=0.1"], {"lr": "0.1"}),
        (["/app/train", "--lr", "0.1"], {"lr": "0.1"}),
        (["sh", "run.sh", "--lr", "0.1"], {"1": "sh", "2": "run.sh", "lr": "0.1"}),
    ],
)  # fmt: skip
def test_of_a_command_what_the_program_is_told_counts(
    command: list[str], expected: dict[str, str]
) -> None:
    job = Job(command).submission().job
    assert settings_of(job).arguments == expected
    both = {
        **job,
        "spec": {**job["spec"], "trainer": {"command": command[:1], "args": command[1:]}},
    }
    assert settings_of(both).arguments == expected


def test_what_is_large_is_cut_and_says_so() -> None:
    texts = settings_of(job_of(CustomTrainer(wide, func_args={"text": "x" * 300}))).arguments
    assert texts["text"].endswith("... (302 characters)")
    assert len(texts["text"]) < 250
    many = settings_of(job_of(CustomTrainer(wide, func_args={f"a{n}": n for n in range(9000)})))
    assert any(name.endswith(" more") for name in many.arguments)
    assert len(many.arguments) < 9000


def test_what_the_runtime_decides_is_read_from_the_jobset() -> None:
    submitted = job_of(CustomTrainer(train, func_args={"rate": 1}))
    made = Job(pod={}, nodes=3).submission()
    jobset = next(each for each in made.objects if each["kind"] == "JobSet")
    found = settings.with_pods(settings_of(submitted), jobset, 3, suspended=False)
    assert (found.image, found.nodes) == ("none", 3)
    assert settings.with_pods(found, None, 0, suspended=False) == found


@pytest.mark.parametrize("note", ["{", "[]", "7", '{"given": 1}'])
def test_a_damaged_annotation_says_nothing(note: str) -> None:
    job = job_of(CustomTrainer(train, func_args={"rate": 1}))
    job["metadata"]["annotations"] |= {names.ARGUMENTS: note, names.PACKAGES: note}
    found = settings_of(job)
    assert (found.arguments, found.packages) == ({}, ())


@pytest.mark.parametrize("damage", [7, "x", [1], None, {"a": 1}])
@pytest.mark.parametrize("field", ["trainer", "initializer", "runtimeRef"])
def test_a_damaged_record_says_what_is_left(field: str, damage: Any) -> None:
    job = Job(["python", "t.py"]).submission().job
    found = settings_of({**job, "spec": {**job["spec"], field: damage}})
    assert found.runtime == ("" if field == "runtimeRef" else "rt")


def test_records_of_both_engines_say_the_settings() -> None:
    made = Job(["python", "t.py", "--lr", "0.1"]).submission()
    snapshot = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"tj{names.SNAPSHOT_SUFFIX}"},
        "data": {},
    }
    stored = RECORDS.parts(replace(made, objects=(snapshot, *made.objects))).holder
    born = {"uid": "u", "creationTimestamp": "2026-11-28T00:00:00Z"}
    stored = {**stored, "metadata": {**stored["metadata"], **born}}
    by_provider = RECORDS.known_record(stored).declared("here").settings
    job = JOBS.parts(replace(made, objects=(*made.objects, made.job))).holder
    marks = {"labels": {names.RECORD_LABEL: "true"}}
    job = {**job, "metadata": {**job["metadata"], **born, **marks}}
    by_controller = JOBS.known_record(job).declared("here").settings
    assert by_provider == by_controller == settings_of(made.job)
    assert by_provider.arguments["lr"] == "0.1"
