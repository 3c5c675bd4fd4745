"""Code that imports from its own package: the preview says what to write, and what it says runs."""

import re

import pytest

from tests.trainers.conftest import Pod, Problems, Write
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

RELATIVE = "from .features import load\n"
ABOVE = "from ..features import load\n"
ABSOLUTE = "from churn.features import load\n"
MAIN = "def main(): print(load())\n"
STARTED = f"{MAIN}if __name__ == '__main__':\n    main()\n"


def written(write: Write, path: str, text: str) -> None:
    for each in ("src/churn/__init__.py", "src/churn/models/__init__.py"):
        write(each, "")
    write("src/churn/features.py", "def load(): return 'loaded'\n")
    write(path, text)


@pytest.mark.parametrize(
    ("path", "text", "train", "right"),
    [
        ("src/churn/train.py", RELATIVE + MAIN, "src/churn/train.py:main", "src:churn.train:main"),
        ("src/churn/train.py", ABSOLUTE + MAIN, "src/churn/train.py:main", "src:churn.train:main"),
        ("src/churn/train.py", RELATIVE + MAIN, "src/churn:train.py:main", "src:churn.train:main"),
        ("src/churn/train.py", ABSOLUTE + MAIN, "src/churn:train:main", "src:churn.train:main"),
        (
            "src/churn/models/gbm.py",
            ABOVE + MAIN,
            "src/churn/models/gbm.py:main",
            "src:churn.models.gbm:main",
        ),
        (
            "src/churn/models/gbm.py",
            ABOVE + MAIN,
            "src/churn/models:gbm:main",
            "src:churn.models.gbm:main",
        ),
        (
            "src/churn/models/gbm.py",
            ABSOLUTE + MAIN,
            "src/churn:models.gbm:main",
            "src:churn.models.gbm:main",
        ),
        ("src/churn/train.py", RELATIVE + STARTED, "src/churn/train.py", "src:churn.train"),
        ("src/churn/train.py", ABSOLUTE + STARTED, "src/churn/train.py", "src:churn.train"),
        ("src/churn/train.py", RELATIVE + STARTED, "src/churn:train.py", "src:churn.train"),
        ("src/churn/train.py", RELATIVE + STARTED, "src:churn/train.py", "src:churn.train"),
        (
            "src/churn/models/gbm.py",
            ABOVE + STARTED,
            "src:churn/models/gbm.py",
            "src:churn.models.gbm",
        ),
    ],
)
def test_the_advice_is_what_runs(
    write: Write, problems: Problems, pod: Pod, path: str, text: str, train: str, right: str
) -> None:
    written(write, path, text)
    (problem,) = problems(CustomTrainer(train))
    assert re.findall(r'"(src:[^"]*)"', problem) == [right]
    ended = pod.run(CustomTrainer(right).pack())
    assert (ended.code, ended.out, ended.err) == (0, "loaded\n", "")


def test_a_package_starts_by_its_main_module(write: Write, pod: Pod) -> None:
    written(
        write,
        "src/churn/__main__.py",
        "import sys\nfrom churn.features import load\nprint(load(), sys.argv[1:])\n",
    )
    ended = pod.run(CustomTrainer("src:churn", args=["--epochs", "3"]).pack())
    assert (ended.code, ended.out) == (0, "loaded ['--epochs', '3']\n")


@pytest.mark.parametrize(
    ("train", "text"),
    [
        ("src/churn/train.py:main", "import json\n" + MAIN),
        ("src:churn/train.py", "from churn.features import load\n" + STARTED),
        ("src/plain:train.py", "from features import load\n" + STARTED),
        ("src/churn:train:main", "from models.gbm import load\n" + MAIN),
    ],
)
def test_what_finds_its_modules_is_left_alone(write: Write, train: str, text: str) -> None:
    written(write, f"src/{'plain' if 'plain' in train else 'churn'}/train.py", text)
    CustomTrainer(train).pack()
