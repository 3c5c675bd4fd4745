import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.conftest import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The programs and the script, away from the stack settings of whoever runs the tests."""
    folder = tmp_path / "checkout"
    unwanted = shutil.ignore_patterns("Pulumi.*.yaml", "__pycache__")
    shutil.copytree(ROOT / "stacks", folder / "stacks", ignore=unwanted)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "quickstart.py", folder / "tools")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=env, check=False, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_quickstart_trains_once_on_disjoint_rows_and_ends_with_equal_parameters(
    checkout: Path, pulumi_env: dict[str, str]
) -> None:
    script = [sys.executable, "tools/quickstart.py"]

    output = run([*script, "up"], checkout, pulumi_env)
    closing = output.splitlines()[-4:]
    accuracy = re.fullmatch(r"accuracy on held-out digits: +(0\.\d+)", closing[0])
    assert accuracy is not None
    assert float(accuracy[1]) > 0.95
    assert re.search(r"running +\d+% +loss \d", output), "loss and progress are shown while it runs"

    log = run([*closing[2].split(":", 1)[1].split()], checkout, pulumi_env)
    rows = [set(found.split(",")) for found in re.findall(r"rows: ([0-9,]+)", log)]
    assert [len(each) for each in rows] == [718, 718]
    assert rows[0].isdisjoint(rows[1])
    assert len(set(re.findall(r"parameters sha256:(\w{64})", log))) == 1
    assert len(re.findall(r"parameters sha256", log)) == 2

    assert "3 unchanged" in run([*script, "preview"], checkout, pulumi_env)
    assert "3 unchanged" in run([*script, "up"], checkout, pulumi_env)
    changed = ["preview", "--diff", "--config", "quickstart:epochs=3"]
    assert "+-2 to replace" in run([*script, *changed], checkout, pulumi_env)
    assert "- 3 deleted" in run([*script, "destroy"], checkout, pulumi_env)


def test_up_from_the_top_folder_runs_the_same_program(
    checkout: Path, pulumi_env: dict[str, str]
) -> None:
    settings = ["--config", "trainer:target=local", "--config", "quickstart:framework=jax"]
    env = {**pulumi_env, "VIRTUAL_ENV": str(ROOT / ".venv")}
    run(["pulumi", "stack", "init", "top"], checkout, env)
    output = run(["pulumi", "up", "--yes", "--skip-preview", *settings], checkout, env)
    assert "+ 3 created" in output
    assert "3 unchanged" in run(["pulumi", "preview"], checkout, env)
    run(["pulumi", "destroy", "--yes", "--skip-preview"], checkout, env)
    assert not list(Path(env["TRAINER_INFRA_HOME"], "runs", "default").glob("*"))
