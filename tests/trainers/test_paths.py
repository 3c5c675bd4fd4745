"""`train` as a path: what is there, what is missing, what cannot travel."""

import os
from pathlib import Path

import pytest

from tests.trainers.conftest import Problems, Write
from trainer_infra.trainers.custom import folder
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer


def test_missing_things_say_where_was_looked(write: Write, problems: Problems) -> None:
    write(
        "train.py",
        "RATE = 0.1\nclass Model:\n def fit(self): pass\ndef fit(): pass\ndef test(): pass\n",
    )
    write("train.sh", "")
    write("app/main.py", "")
    write("app/pkg/work.py", "")
    forms = (
        '"train.py", "train.py:function", "folder:main.py", "folder:package.module" '
        'or "folder:package.module:function"'
    )
    found = {
        train: problems(CustomTrainer(train))
        for train in (
            "tran.py",
            "train.sh",
            "app",
            "app:mian.py",
            "app:pkg.wrk:fit",
            "app:nothing:fit",
            "train.py:fitt",
            "train.py:evaluate",
            "train.py:Model.fit",
            "train.py:RATE",
            "train.py:a:b",
        )
    }
    assert found == {
        "tran.py": [
            (
                f"train: there is no file or folder tran.py, got 'tran.py'; "
                f"paths are relative to {Path.cwd()}"
            )
        ],
        "train.sh": [f"train: is not a Python file to run, got 'train.sh'; give {forms}"],
        "app": [
            (
                "train: is a folder without an entry, got 'app'; "
                'name what to run in it: "app:main.py" or "app:module:function"'
            )
        ],
        "app:mian.py": [
            "app: train: the folder has no such file, got 'mian.py'; the nearest is main.py"
        ],
        "app:pkg.wrk:fit": [
            "app: train: the folder has no such file, got 'pkg/wrk.py'; the nearest is pkg/work.py"
        ],
        "app:nothing:fit": [
            (
                "app: train: the folder has no such file, got 'nothing.py'; left out are "
                "hidden files, those that ignore files name, and a Pulumi program's own"
            )
        ],
        "train.py:fitt": [
            "train.py:1: train: the file has no such function, got 'fitt'; the nearest is fit"
        ],
        "train.py:evaluate": [
            "train.py:1: train: the file has no such function, got 'evaluate'; define it in there"
        ],
        "train.py:Model.fit": [
            (
                "train.py:1: train: must be a function, not a class or its method, got 'Model.fit'; "
                "write a function that uses it, and name that"
            )
        ],
        "train.py:RATE": [
            (
                "train.py:1: train: must be a function, not a value, got 'RATE'; "
                "write a function that uses it, and name that"
            )
        ],
        "train.py:a:b": [f"train: is not a Python file to run, got 'train.py:a:b'; give {forms}"],
    }


def test_a_function_may_be_imported_or_assigned(write: Write) -> None:
    write("train.py", "from math import sqrt as root\ntry:\n def a(): pass\nfinally: pass\nb = a\n")
    for name in ("root", "a", "b"):
        CustomTrainer(f"train.py:{name}").pack()
    write(
        "late.py", "c = None\ntry: from math import sqrt as c\nexcept OSError: d = 1\nelse: d = c\n"
    )
    for name in ("c", "d"):
        CustomTrainer(f"late.py:{name}").pack()


def test_names_that_python_cannot_import_are_refused(write: Write, problems: Problems) -> None:
    write("__main__.py", "def fit(): pass\n")
    write("01.train.py", "def fit(): pass\n")
    what = "train: cannot be imported as a module under this name; rename it"
    assert problems(CustomTrainer("__main__.py:fit")) == [f"__main__.py: {what}"]
    assert problems(CustomTrainer("01.train.py:fit")) == [f"01.train.py: {what}"]


def test_syntax_errors_are_named_with_their_lines(write: Write, problems: Problems) -> None:
    write("app/main.py", "x = 1\ny = (\n")
    write("app/other.py", "def f(:\n")
    assert problems(CustomTrainer("app:main.py")) == [
        "app/main.py:2: train: cannot be compiled: '(' was never closed",
        "app/other.py:1: train: cannot be compiled: invalid syntax",
    ]


@pytest.mark.parametrize(
    "expression", ["1 + " * 30_000 + "1", "-" * 30_000 + "1"], ids=["long", "deep"]
)
def test_what_python_cannot_parse_is_one_problem(
    expression: str, write: Write, problems: Problems
) -> None:
    write("app/main.py", f"x = {expression}\n")
    what = "cannot be compiled: an expression is too long or too deep for Python"
    assert problems(CustomTrainer("app:main.py")) == [
        f"app/main.py: train: {what}; make several of it"
    ]


def test_what_a_config_map_cannot_hold_is_named(
    write: Write, problems: Problems, tmp_path: Path
) -> None:
    write("app/main.py", "")
    (tmp_path / "outside.txt").write_text("")
    Path("app/out").symlink_to(tmp_path / "outside.txt")
    Path("app/folder").symlink_to(Path("app").absolute())
    Path("app/inside.py").symlink_to("main.py")
    Path("app/broken").symlink_to("nowhere")
    Path("app/loop").symlink_to("loop")
    Path("app/weights.bin").write_bytes(b"\xff\xfe")
    os.mkfifo("app/pipe")
    copy = "copy what it points to into the folder"
    here = Path.cwd()
    assert problems(CustomTrainer("app:main.py")) == [
        f"app/broken: train: is not a file, got '{here}/app/nowhere'; remove it",
        (
            "app/folder: train: is a link to a folder, which a ConfigMap cannot hold, "
            f"got '{here}/app'; {copy}"
        ),
        "app/loop: train: is a link that leads to itself; remove it",
        f"app/out: train: is a link out of the folder, got '{tmp_path}/outside.txt'; {copy}",
        f"app/pipe: train: is not a file, got '{here}/app/pipe'; remove it",
        (
            "app/weights.bin: train: is not UTF-8 text, and a ConfigMap carries text only; "
            f"{folder.NO_STORE}"
        ),
    ]


def test_too_much_names_the_largest_files(write: Write, problems: Problems) -> None:
    write("app/main.py", "x\n" * 50_000)
    write("app/data.csv", "x" * 900_000)
    write("app/note.txt", "x" * 2000)
    write("app/huge.csv", "x" * 2_000_000)
    assert problems(CustomTrainer("app:main.py")) == [
        (
            "app: train: the code has 2.9 MiB, over a ConfigMap's limit of 1.0 MiB; largest: "
            "huge.csv (1.9 MiB), data.csv (878.9 KiB), main.py (97.7 KiB); "
            f"{folder.NO_STORE}"
        )
    ]


def test_arguments_count_too(write: Write, problems: Problems) -> None:
    write("train.py", "def fit(text): pass\n")
    found = problems(CustomTrainer("train.py:fit", func_args={"text": "x" * 1_048_576}))
    assert found[0].startswith(
        "train.py:1: train: the code has 1.0 MiB, over a ConfigMap's limit of 1.0 MiB; "
        "largest: args.json (1.0 MiB), "
    )


@pytest.mark.parametrize("entry", ["train.py", "train.py:fit"])
def test_a_file_that_needs_its_neighbours_is_refused(
    write: Write, problems: Problems, entry: str
) -> None:
    write("train.py", "import os\nimport helpers\ndef fit(): pass\nfit()\n")
    write("helpers.py", "")
    assert problems(CustomTrainer(entry)) == [
        (
            "train.py:2: train: train.py imports helpers, which would not travel with it; "
            f'give the folder: CustomTrainer(".:{entry}")'
        )
    ]
