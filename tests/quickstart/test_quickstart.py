"""The quickstart as a newcomer runs it: real frameworks, two processes, real data."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, env: Mapping[str, str], folder: Path = ROOT, ok: bool = True) -> str:
    """Run a command to its end and return what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1200,
        check=False,
    )
    assert (done.returncode == 0) == ok, done.stdout
    return done.stdout


def quickstart(framework: str, *arguments: str, env: Mapping[str, str]) -> str:
    """A command of `make quickstart`."""
    script = [sys.executable, "tools/quickstart.py", *arguments, "--framework", framework]
    return run(*script, env=env)


# tests/e2e trains with PyTorch on this machine, by examples/torch-ddp.
@pytest.mark.parametrize("framework", ["jax", pytest.param("torch", marks=pytest.mark.soak)])
def test_trains_on_disjoint_rows_to_equal_parameters(
    framework: str, pulumi_env: dict[str, str]
) -> None:
    shown = quickstart(framework, "up", env=pulumi_env)

    accuracy = re.search(r"accuracy on held-out digits: (\S+)", shown)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.95
    assert re.search(r"\d+%  loss=\S+ accuracy=\S+  running", shown), "no progress was shown"
    name = re.search(r"trainer-infra logs (digits-\S+)", shown)
    assert name is not None
    log = run(str(Path(sys.executable).parent / "trainer-infra"), "logs", name[1], env=pulumi_env)
    rows = [set(found.split(",")) for found in re.findall(r"rows: ([\d,]+)", log)]
    assert len(rows) == 2
    assert rows[0] & rows[1] == set()
    assert {len(found) for found in rows} == {718}
    parameters = re.findall(r"parameters sha256:(\w{64})", log)
    assert len(parameters) == 2
    assert len(set(parameters)) == 1
    if framework == "jax":
        # Pulumi's part is the same whatever trains.
        assert_a_change_is_shown_and_all_goes(framework, pulumi_env)


def assert_a_change_is_shown_and_all_goes(framework: str, env: Mapping[str, str]) -> None:
    quickstart(framework, "preview", "--expect-no-changes", env=env)
    change = ("--diff", "--config", "quickstart:epochs=2")
    changed = quickstart(framework, "preview", *change, env=env)
    assert "TrainJob: (replace)" in changed
    assert changed.count("~ epochs: 30 => 2") == 2, "in code and in the rendered ConfigMap"
    quickstart(framework, "destroy", env=env)


def test_the_program_runs_in_its_folder(tmp_path: Path, pulumi_env: dict[str, str]) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "stacks" / "quickstart", root / "stacks" / "quickstart")
    (root / ".venv").symlink_to(sys.prefix)

    def pulumi(*arguments: str) -> str:
        folder = root / "stacks" / "quickstart"
        return run("pulumi", *arguments, env=pulumi_env, folder=folder)

    pulumi("stack", "init", "test")
    pulumi("config", "set", "trainer:target", "local")
    pulumi("config", "set", "quickstart:framework", "jax")
    pulumi("config", "set", "quickstart:epochs", "2")
    pulumi("up", "--yes", "--skip-preview", "--non-interactive")
    assert float(pulumi("stack", "output", "accuracy")) > 0.5
    pulumi("destroy", "--yes", "--skip-preview", "--non-interactive")
