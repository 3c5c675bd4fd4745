"""docs/notebooks.md: its cells train, run one by one in IPython and as one script."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.project import Stack, until
from tests.docs import page

(BLOCK,) = page.blocks(page.ROOT / "docs" / "notebooks.md")

# What a kernel does with cells, the kernel itself left out.
SHELL = """
import re, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in re.split(r"^# %%$", open(sys.argv[1]).read(), flags=re.MULTILINE):
    shell.run_cell(cell, store_history=True).raise_error()
"""
AGAIN = """
# %%
assert stack.outputs()["loss"].value == loss
assert stack.up().summary.resource_changes == {"same": 3}
"""
FAILING = """
# %%
def train(rate: float) -> None:
    raise ValueError(f"a rate of {rate}")

# %%
try:
    stack.up()
except automation.CommandError as error:
    assert "ValueError: a rate of 0.3" in str(error)
else:
    raise AssertionError("it did not fail")
"""


@pytest.fixture
def notebook(tmp_path: Path, pulumi_env: dict[str, str]) -> Stack:
    """A folder with nothing in it, and a home."""
    folder, home = tmp_path / "notebook", tmp_path / "reader"
    folder.mkdir()
    home.mkdir()
    env = {name: each for name, each in pulumi_env.items() if name != "PULUMI_BACKEND_URL"}
    cache = str(Path.home() / ".cache" / "trainer-infra")
    env = {"TRAINER_INFRA_CACHE": cache, **env, "HOME": str(home), "IPYTHONDIR": str(home)}
    return Stack(folder, {name: each for name, each in env.items() if name != "KUBECONFIG"})


def run(notebook: Stack, text: str, *program: str) -> str:
    # Pulumi's `~` is the home in which this machine's user has other stacks, whatever HOME says.
    text = text.replace("file://~", f"file://{notebook.env['HOME']}")
    (notebook.folder / "notebook.py").write_text(text)
    done = subprocess.run(
        [sys.executable, *program, "notebook.py"],
        cwd=notebook.folder,
        env=dict(notebook.env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.soak
def test_it_trains_as_a_script(notebook: Stack) -> None:
    assert "the loss is 0.10" in run(notebook, BLOCK.text)
    assert notebook.runs() == []


def test_it_trains_cell_by_cell(notebook: Stack) -> None:
    body, last, destroy = BLOCK.text.rpartition("# %%")
    said = run(notebook, body + AGAIN + FAILING + last + destroy, "-c", SHELL)
    assert "the loss is 0.10" in said
    assert notebook.runs() == []


KILLED = """
# %%
def train(rate: float) -> None:
    import os, pathlib, time
    from trainer_infra.report import report

    while not pathlib.Path({go!r}).exists():
        time.sleep(0.1)
    report(progress=100, loss=rate / 3)
"""
AFTERWARDS = """
# %%
try:
    stack.up()
except automation.ConcurrentUpdateError:
    stack.cancel()
else:
    raise AssertionError("there was no lock")
"""


@pytest.mark.soak  # the command of the killed kernel may still write the state that the next one reads
def test_after_a_kernel_has_ended_the_stack_is_locked_until_it_is_cancelled(
    notebook: Stack, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    cells, at_up, rest = BLOCK.text.partition("# %%\nresult = stack.up")
    head, at_program, program = cells.partition("# %%\ndef program")
    text = f"{head}{KILLED.format(go=str(go))}{at_program}{program}"
    text = text.replace("file://~", f"file://{notebook.env['HOME']}")
    (notebook.folder / "notebook.py").write_text(f"{text}{at_up}{rest}")
    with subprocess.Popen(
        [sys.executable, "notebook.py"], cwd=notebook.folder, env=notebook.env
    ) as kernel:
        until(lambda: [each for each in notebook.runs() if each["phase"] == "Running"])
        kernel.kill()
    go.touch()
    assert "the loss is 0.10" in run(notebook, f"{text}{AFTERWARDS}{at_up}{rest}")
    assert notebook.runs() == []
