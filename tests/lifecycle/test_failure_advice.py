"""What a failure's own words tell to do, and that all other failures get no advice."""

import pytest

from trainer_infra.runs import failure_advice, sentences
from trainer_infra.runs.run import Failure, Owner, Run

STARTED = "pod a: container node ended with exit code 1"
ADD = (
    'add it with its version to packages= of the trainer (--package of `trainer-infra run`), as in "{0}==<version>", '
    "or train on an image that has it"
)
START_HERE = "pod a: container node cannot start with exit code 128: [Errno 2] No such file or directory: '{0}'"
START_THERE = (
    "pod a: container node cannot start with exit code 128: failed to create containerd task: exec: "
    '"{0}": executable file not found in $PATH: unknown'
)
MODULE = "ModuleNotFoundError: No module named '{0}'"
NO_FILE = "FileNotFoundError: [Errno 2] No such file or directory: '{0}'"


@pytest.mark.parametrize(
    ("line", "module", "package"),
    [
        (MODULE.format("pandas"), "pandas", "pandas"),
        (MODULE.format("sklearn.datasets"), "sklearn", "scikit-learn"),
        (f"[rank1]: {MODULE.format('yaml')}", "yaml", "pyyaml"),
    ],
)
def test_a_missing_module_is_to_be_added_to_the_packages(
    line: str, module: str, package: str
) -> None:
    expected = f"the Python of the job has no module {module!r}: {ADD.format(package)}"
    assert failure_advice.advice(STARTED, ["Traceback", line, ""]) == expected
    said_after = ["Traceback", line, "torch.distributed.elastic: exitcode 1"]
    assert failure_advice.advice(STARTED, said_after) == expected


@pytest.mark.parametrize("message", [START_HERE, START_THERE])
def test_a_missing_program_is_to_be_had_by_its_package(message: str) -> None:
    assert failure_advice.advice(message.format("torchrun"), ()) == (
        f"torchrun comes with torch: {ADD.format('torch')}"
    )
    assert failure_advice.advice(message.format("/opt/train"), ()) == (
        "there is no program 'train' where the job runs: correct the command, or install it there"
    )


def test_a_relative_path_that_is_missing_is_told_the_working_directory() -> None:
    said = failure_advice.advice(STARTED, ["Traceback", NO_FILE.format("data/train.csv"), " "])
    assert said.startswith("'data/train.csv' is a relative path, and a run has a working directory")


@pytest.mark.parametrize(
    "lines",
    [
        (),
        (NO_FILE.format("/data/train.csv"),),
        (NO_FILE.format("train.csv"), "but it goes on"),
        ("ValueError: No module named 'x'",),
    ],
)
def test_any_other_failure_gets_no_advice(lines: tuple[str, ...]) -> None:
    assert failure_advice.advice(STARTED, lines) == ""


def test_the_advice_comes_last_in_what_is_told_of_a_failure() -> None:
    failure = Failure("a", "Error", 1, (MODULE.format("pandas"),))
    run = Run("default", "a", "1", "here", Owner(), "", "", "Failed", failure=failure)
    assert (
        sentences.failure_lines(run)
        .splitlines()[-1]
        .startswith("the Python of the job has no module")
    )
