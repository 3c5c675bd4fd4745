"""What the types promise: mypy takes what the engine takes, and reports what it would refuse."""

import os
import re
import subprocess
import sys
from pathlib import Path

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


def checked(*files: Path) -> list[str]:
    """What `mypy --strict` says of the files."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, files)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout.splitlines()


def test_mypy_takes_an_output_wherever_one_is_taken_and_reports_each_mistake(
    tmp_path: Path,
) -> None:
    text = (TYPED / "mistakes.py").read_text()
    wrong = [number for number, line in enumerate(text.splitlines(), 1) if IGNORED.search(line)]
    mistakes = tmp_path / "mistakes.py"
    mistakes.write_text(IGNORED.sub("", text))

    said = checked(TYPED / "program.py", mistakes)

    errors = [line for line in said if ": error: " in line]
    assert [line for line in errors if "mistakes.py" not in line] == []
    assert sorted({int(line.split(":")[1]) for line in errors}) == wrong
    assert len(wrong) > 20


def test_the_program_that_mypy_takes_runs(stack: Stack) -> None:
    (stack.folder / "__main__.py").write_text((TYPED / "program.py").read_text())
    (stack.folder / "script.py").write_text(SCRIPT)
    with package_index.serving(package_index.Package("planted")) as index:
        stack.run("config", "set", "index", index.url)
        stack.up()
        outputs = stack.outputs()
        ended = until(lambda: _ended(stack))
    assert outputs["rate"] == 0.5
    assert outputs["metrics"] == {
        "rate": 0.5,
        "token": 13,
        "nodes": 2,
        "home": "here",
        "of": 1.0,
    }
    assert outputs["outputs"] == [["logs", "model"], ["model"], ["logs", "model"]]
    assert outputs["statuses"] == {"whole": "Complete", "short": "Complete"}
    assert ended == ["Complete"] * 6, [each["message"] for each in stack.runs()]
    assert "planted-" not in stack.export()
    stack.unchanged()


def _ended(stack: Stack) -> list[str]:
    """How every run ended; empty as long as one goes on."""
    conditions = [each.get("status", {}).get("conditions") for each in stack.runs()]
    return [each[-1]["type"] for each in conditions] if all(conditions) else []
