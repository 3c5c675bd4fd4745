"""Functions of a notebook's cells as `train`: the one that was run last, however often, and no magic."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# What a kernel does with cells; its compiler names them by a file that is not there, as ipykernel's does.
SHELL = """
import json, sys
from IPython.core.compilerop import CachingCompiler
from IPython.core.interactiveshell import InteractiveShell

class Compiler(CachingCompiler):
    def get_code_name(self, raw_code, transformed_code, number):
        return f"/tmp/ipykernel_4321/{abs(hash(raw_code))}.py"

shell = InteractiveShell.instance()
if sys.argv[1] == "kernel":
    shell.compile = Compiler()
for cell in json.loads(sys.argv[2]):
    shell.run_cell(cell, store_history=True).raise_error()
"""
FIRST = """
import json
from trainer_infra import CustomTrainer

def shown(train):
    try:
        code = CustomTrainer(train).pack().code
    except Exception as error:
        return str(error).partition("train: ")[2]
    ((path, text),) = ((path, text) for path, text in code.files.items() if path.startswith("source/"))
    return f"{path}: {text.strip()}"

def tell(train):
    print("SHOWN", json.dumps(shown(train)))
"""


@pytest.fixture(params=["kernel", "console"])
def cells(request: pytest.FixtureRequest, tmp_path: Path) -> "Cells":
    return Cells(request.param, tmp_path)


class Cells:
    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder

    def tell(self, *cells: str) -> list[str]:
        """What `tell` said of each function that the cells gave it."""
        command = [sys.executable, "-c", SHELL, self.kind, json.dumps([FIRST, *cells])]
        env = {"IPYTHONDIR": str(self.folder), "HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [
            json.loads(line.removeprefix("SHOWN "))
            for line in done.stdout.splitlines()
            if line.startswith("SHOWN ")
        ]


def fit(text: str) -> str:
    return f"def fit():\n    print({text!r})\n"


def packed(text: str) -> str:
    return f"source/fit.py: {fit(text).strip()}"


def test_a_cell_that_was_run_again_counts_as_it_is_now(cells: Cells) -> None:
    said = cells.tell(
        *(fit("one"), "tell(fit)\nold = fit"),
        *(fit("two"), "tell(fit)\ntell(old)"),
        *(fit("one"), "tell(fit)"),
    )
    assert said == [packed("one"), packed("two"), packed("one"), packed("one")]


def test_a_cell_that_was_run_twice_is_the_same_code(cells: Cells) -> None:
    assert cells.tell(fit("one"), fit("one"), "tell(fit)", "tell(fit)") == [packed("one")] * 2


def test_two_functions_of_one_name_and_of_one_cell_are_told_apart(cells: Cells) -> None:
    both = f"{fit('one')}first = fit\n\n{fit('two')}"
    one, two = cells.tell(both, "tell(first)\ntell(fit)")
    assert "one" in one
    assert "two" in two
    assert "two" not in one


def test_a_cell_may_have_magics_outside_of_the_function(cells: Cells) -> None:
    assert cells.tell(f"%pwd\n!true\n{fit('one')}", "tell(fit)") == [packed("one")]
    assert cells.tell(f"%%capture\n{fit('one')}", "tell(fit)") == [packed("one")]


@pytest.mark.parametrize("line", ["%pwd", "!ls", "found = !ls"])
def test_a_magic_inside_of_the_function_is_refused(cells: Cells, line: str) -> None:
    (said,) = cells.tell(f"def fit():\n    {line}\n", "tell(fit)")
    what = "function fit uses get_ipython, which only a notebook has; "
    assert said.startswith(
        f"{what}remove each %magic and each !command from it, or move it to a file"
    )


def test_a_cell_whose_magic_hides_its_source_is_refused(cells: Cells) -> None:
    (said,) = cells.tell(f"%%time\n{fit('one')}", "tell(fit)")
    assert said == (
        "the source of function fit cannot be found there; define it in a file that does not change "
        "while the program runs, or in a notebook's cell that begins with no %%magic"
    )


def test_a_lambda_and_what_another_cell_defined_are_refused(cells: Cells) -> None:
    said = cells.tell(
        *("fit = lambda: 1", "tell(fit)"),
        *("rate = 0.1", "import math", "def helper(): pass"),
        *("def fit():\n    print(rate, math.pi, helper())", "tell(fit)"),
    )
    assert said[0] == "a lambda has no definition that could be shipped; write a function with def"
    assert (
        "function fit uses rate, a variable outside of it; pass it as an argument in func_args"
        in said[1]
    )
    assert "function fit uses math, which is imported outside of it; import it inside" in said[1]
    assert "function fit uses helper, which is defined outside of it; define it inside" in said[1]


def test_a_module_beside_the_notebook_does_not_travel(cells: Cells) -> None:
    (cells.folder / "helper.py").write_text("")
    (said,) = cells.tell("def fit():\n    import helper\n", "tell(fit)")
    assert said.startswith(
        "function fit imports helper, which would not travel with it; move it to"
    )
