"""What of a folder does not travel."""

from pathlib import Path

import pytest

from tests.trainers.conftest import Problems, Write
from trainer_infra import CustomTrainer


def packed(train: str) -> list[str]:
    files = CustomTrainer(train).pack().code.files
    return sorted(path.removeprefix("source/") for path in files if path.startswith("source/"))


def test_files_of_the_pulumi_program_are_left_out(write: Write) -> None:
    write("train.py", "def fit(): pass\n")
    write("helper.py", "")
    write("Pulumi.yaml", "name: mine\nruntime: python\n")
    write("Pulumi.dev.yaml", "config: {}\n")
    write("__main__.py", "from trainer_infra import TrainJob\n")
    write("other/__main__.py", "print(1)\n")
    write("stacks/prod/Pulumi.yaml", "name: prod\nruntime: python\n")
    write("stacks/prod/__main__.py", "")
    assert packed(".:train:fit") == ["helper.py", "other/__main__.py", "train.py"]


def test_a_program_that_changes_is_the_same_work(write: Write) -> None:
    write("train.py", "def fit(): pass\n")
    write("Pulumi.yaml", "name: mine\nruntime: python\n")
    main = write("__main__.py", "")
    before = CustomTrainer(".:train:fit").pack().code
    main.write_text("import pulumi\npulumi.export('x', 1)\n")
    assert CustomTrainer(".:train:fit").pack().code == before


def test_a_folder_that_is_no_project_keeps_its_main(write: Write) -> None:
    write("app/__main__.py", "print(1)\n")
    assert packed("app:__main__.py") == ["__main__.py"]


def test_ignore_files_count_as_git_reads_them(write: Write) -> None:
    write(".git/HEAD", "")
    write(".gitignore", "*.ckpt\n/app/runs/\n")
    write("app/.gitignore", "*.csv\n!small.csv\n")
    write("app/.trainerignore", "notes/\n!wanted.ckpt\n")
    for path in ("main.py", "a.ckpt", "wanted.ckpt", "big.csv", "small.csv", "runs/x.py"):
        write(f"app/{path}", "print()\n")
    write("app/notes/x.py", "1\n")
    write("app/pkg/runs/y.py", "1\n")
    write("app/pkg/.gitignore", "z*\n")
    write("app/pkg/z.py", "1\n")
    assert packed("app:main.py") == ["main.py", "pkg/runs/y.py", "small.csv", "wanted.ckpt"]


@pytest.mark.parametrize(
    "lines",
    [
        "\ufeffkey.json\n",
        "\ufeffkey.json\r\n*.csv\r\n",
        "x[z-a]y\nkey.json\n",
        "!\nkey.json",
        "key.json\nkey\\\n",
        "# a page\x0c!key.json\nkey.json\n# a line\u2028!key.json\n# a return\r!key.json\n",
    ],
    ids=["bom", "crlf", "no_range", "nothing_negated", "nothing_escaped", "other_line_ends"],
)
def test_lines_count_as_git_reads_them(write: Write, lines: str) -> None:
    write("app/main.py", "print()\n")
    write("app/key.json", "{}\n")
    Path("app/.gitignore").write_bytes(lines.encode())
    assert packed("app:main.py") == ["main.py"]


def test_git_files_outside_of_a_repository_do_not_count(write: Write) -> None:
    write(".gitignore", "*.py\n")
    write("app/main.py", "print()\n")
    assert packed("app:main.py") == ["main.py"]


def test_virtual_environments_are_left_out_under_any_name(write: Write) -> None:
    write("app/main.py", "print()\n")
    write("app/venv/pyvenv.cfg", "home = /usr\n")
    write("app/venv/lib/x.py", "1\n")
    assert packed("app:main.py") == ["main.py"]


def test_a_link_that_is_ignored_is_not_followed(write: Write) -> None:
    write("app/main.py", "print()\n")
    write("app/.gitignore", "data\n")
    write("elsewhere/x.csv", "1\n")
    Path("app/data").symlink_to("../elsewhere")
    assert packed("app:main.py") == ["main.py"]


def test_an_entry_that_is_left_out_is_said(write: Write, problems: Problems) -> None:
    write("Pulumi.yaml", "name: mine\nruntime: python\n")
    write("__main__.py", "")
    (said,) = problems(CustomTrainer(".:__main__.py"))
    assert said.startswith(".: train: is a file of the folder that does not travel")
    assert said.endswith("and a Pulumi program's own")
