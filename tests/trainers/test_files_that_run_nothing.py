"""A script that defines functions and calls none is refused, with what was meant; others are left alone."""

import ast
from pathlib import Path

import pytest

from trainer_infra.trainers.custom import files, source

TRAIN = "def train():\n    print('epoch 1')\n"
GUARD = 'if __name__ == "__main__":\n    '


def fixes(text: str) -> list[str]:
    return [each.fix for each in source.runs_nothing(ast.parse(text), "f.py", "f.py")]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (TRAIN, 'did you mean "f.py:train"?'),
        (
            f"import torch\nimport logging\nlog = logging.getLogger()\n{TRAIN}",
            'did you mean "f.py:train"?',
        ),
        (f"def helper():\n    train()\n{TRAIN}", 'did you mean "f.py:train"?'),
        ("def step():\n    pass\n\ndef finetune():\n    step()\n", 'did you mean "f.py:finetune"?'),
        (f"{TRAIN}train\n", 'did you mean "f.py:train"?'),
        (f"{TRAIN}{GUARD}train\n", 'did you mean "f.py:train"?'),
        (f"{TRAIN}{GUARD}pass\n", 'did you mean "f.py:train"?'),
        (
            f"logging.basicConfig()\ntorch.manual_seed(0)\nload_dotenv()\n{TRAIN}",
            'did you mean "f.py:train"?',
        ),
        (
            f"try:\n    import apex\nexcept ImportError:\n    apex = None\n{TRAIN}",
            'did you mean "f.py:train"?',
        ),
        (
            f'{TRAIN}if __name__ == "main":\n    train()\n',
            "line 3 compares __name__ with 'main'; write \"__main__\"",
        ),
        (
            f"{TRAIN}if '__main_' == __name__:\n    train()\n",
            "line 3 compares __name__ with '__main_'; write \"__main__\"",
        ),
        (
            "async def main():\n    pass\nmain()\n",
            "line 3 calls main and runs nothing of it; write asyncio.run(...)",
        ),
        (
            f"def train():\n    yield 1\n{GUARD}train()\n",
            "train is a generator; make it a plain function without yield",
        ),
        ("", "name the file that trains"),
        ('"""Trains."""\n\n# Soon.\n', "name the file that trains"),
        ("pass\n...\n", "name the file that trains"),
        (
            "from churn import train\nif __name__ == '__main':\n    train()\n",
            "line 2 compares __name__ with '__main'; write \"__main__\"",
        ),
        (
            "import torch\nlog = logging.getLogger()\nclass Trainer:\n    def fit(self): ...\n",
            "call it at the end of the file",
        ),
        (f"class Trainer: ...\n{GUARD}pass\n", "call it at the end of the file"),
    ],
)
def test_what_was_meant_is_told(text: str, fix: str) -> None:
    assert fixes(text) == [fix]


@pytest.mark.parametrize(
    "text",
    [
        "import train_now\n",
        "RATE = 0.1\n",
        "import keras\nhistory = keras.Model().fit()\n",
        "print('x')\n",
        "class Net: ...\nimport lightning\nresult = lightning.Trainer().fit(Net())\n",
        "class Config: ...\nfrom library import fit\nresult = fit('data')\n",
        "class Config: ...\nfor each in range(3):\n    Config()\n",
        f"{TRAIN}train()\n",
        f"{TRAIN}{GUARD}train()\n",
        f"{TRAIN}if __name__ in ('__main__', '__mp_main__'):\n    train()\n",
        f"{TRAIN}result = train()\n",
        f"{TRAIN}import fire\nfire.Fire(train)\n",
        f"{TRAIN}import torch.multiprocessing as mp\nmp.spawn(train, nprocs=2)\n",
        "import typer\napp = typer.Typer()\n@app.command()\ndef train():\n    pass\napp()\n",
        "class Model: ...\n\ndef data(): ...\nimport lightning\nlightning.Trainer().fit(Model())\n",
        f"{TRAIN}for _ in range(3):\n    train()\n",
        f"{TRAIN}with open('x') as file:\n    train()\n",
        f"{TRAIN}import asyncio\nasync def main(): train()\nasyncio.run(main())\n",
        f"{TRAIN}import subprocess\nsubprocess.run(['python', '-m', 'x'], check=True)\n",
        f"{TRAIN}import sys\nsys.exit(train())\n",
        f"{TRAIN}import sys\nif len(sys.argv) > 1:\n    train()\n",
        f"{TRAIN}try:\n    train()\nfinally:\n    pass\n",
        f"{TRAIN}while True:\n    train()\n    break\n",
    ],
)
def test_what_runs_something_is_left_alone(text: str) -> None:
    assert fixes(text) == []


@pytest.mark.parametrize("train", ["nocall.py", ".:nocall.py"])
def test_a_file_and_a_file_of_a_folder_are_judged_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nocall.py").write_text(TRAIN)
    (problem,) = files.read_path(train).problems
    assert (problem.what, problem.where) == ("defines train and runs nothing", "nocall.py")
    assert problem.fix.startswith('did you mean "')
