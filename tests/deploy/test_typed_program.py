"""What the types promise: type checkers take what the engine takes, and report what it would refuse."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.project import Stack, until
from tests.local import package_index

TYPED = Path(__file__).parent / "typed"
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys

def train(rate):
    import planted
    print(rate, planted.VERSION)

if __name__ == "__main__":
    import planted
    assert sys.argv[1:] == ["--rate", "1"]
"""
IGNORED = re.compile(r"  # type: ignore\[[a-z-]+\]")
MISSPELT = re.compile(r"  # (\w+)$")


@dataclass(frozen=True)
class Report:
    """An error that a type checker reports."""

    file: str
    line: int
    text: str
    """The message, and of pyright the lines that it marks, up to where the mark ends."""


def mypy(*files: Path) -> list[Report]:
    """The errors of `mypy --strict`."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, files)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    errors = [line.split(":", 2) for line in done.stdout.splitlines() if ": error: " in line]
    return [Report(Path(file).name, int(line), text) for file, line, text in errors]


def pyright(folder: Path, *files: Path) -> list[Report]:
    """The errors of pyright in its standard mode; the folder is for its configuration."""
    program = Path(sys.executable).with_name("basedpyright")
    if not program.exists():
        pytest.fail("basedpyright is missing: install the extra `dev` of this package")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
    configuration = folder / "pyrightconfig.json"
    configuration.write_text(json.dumps(settings | {"include": [str(each) for each in files]}))
    command = [str(program), "--project", str(configuration), "--level", "error", "--outputjson"]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable], capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    return [_pyright_report(each) for each in json.loads(done.stdout)["generalDiagnostics"]]


def _pyright_report(error: dict[str, Any]) -> Report:
    file, first, last = Path(error["file"]), error["range"]["start"], error["range"]["end"]
    lines = file.read_text().splitlines()[first["line"] : last["line"] + 1]
    lines[-1] = lines[-1][: last["character"]]
    marked = "\n".join(lines)
    return Report(file.name, first["line"] + 1, f"{error['message']}\n{marked}")


def test_type_checkers_take_an_output_wherever_one_is_taken_and_report_each_mistake(
    tmp_path: Path,
) -> None:
    text = (TYPED / "mistakes.py").read_text()
    wrong = [number for number, line in enumerate(text.splitlines(), 1) if IGNORED.search(line)]
    mistakes = tmp_path / "mistakes.py"
    mistakes.write_text(IGNORED.sub("", text))
    names = {
        number: named[1]
        for number, line in enumerate(mistakes.read_text().splitlines(), 1)
        if (named := MISSPELT.search(line))
    }

    files = (TYPED / "program.py", mistakes)
    by_checker = {"mypy": mypy(*files), "pyright": pyright(tmp_path, *files)}

    for checker, errors in by_checker.items():
        assert [each for each in errors if each.file != "mistakes.py"] == [], checker
        assert sorted({each.line for each in errors}) == wrong, checker
        texts = {each.line: each.text.partition("#")[0] for each in errors}
        assert {line: name for line, name in names.items() if name not in texts[line]} == {}
    assert len(wrong) > 35
    assert len(names) >= 9


@pytest.mark.soak
def test_the_program_that_type_checkers_take_runs(cli_stack: Stack) -> None:
    (cli_stack.folder / "__main__.py").write_text((TYPED / "program.py").read_text())
    (cli_stack.folder / "script.py").write_text(SCRIPT)
    with package_index.serving(package_index.Package("planted")) as index:
        cli_stack.run("config", "set", "index", index.url)
        cli_stack.up()
        outputs = cli_stack.outputs()
        ended = until(lambda: _ended(cli_stack), pause=1)
    assert outputs["rate"] == 0.5
    assert outputs["metrics"] == {
        "rate": 0.5,
        "token": 13,
        "nodes": 2,
        "home": "here",
        "of": 1.0,
    }
    assert outputs["outputs"] == [["logs", "model"], ["model"], ["logs", "model"]]
    seen, started, finished, members = outputs["seen"]
    assert seen.startswith(("Created", "Running", "Complete")), seen
    assert started.endswith("Z")
    assert set(finished) == {"whole", "short"}
    assert len(members) >= 1
    assert outputs["statuses"] == {"whole": "Complete", "short": "Complete"}
    assert ended == ["Complete"] * 6, [each["message"] for each in cli_stack.runs()]
    assert "planted-" not in cli_stack.export()
    cli_stack.unchanged()


def _ended(stack: Stack) -> list[str]:
    """How every run ended; empty as long as one goes on."""
    conditions = [each.get("status", {}).get("conditions") for each in stack.runs()]
    return [each[-1]["type"] for each in conditions] if all(conditions) else []
