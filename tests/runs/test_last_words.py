"""The line that says why a program ended, out of the last lines of its log."""

import asyncio
import subprocess
import sys
import traceback

import pytest

from trainer_infra.runs.failure_advice import last_words
from trainer_infra.runs.run import Failure

TRACEBACK = """Traceback (most recent call last):
  File "/opt/trainer-infra/code/source/t.py", line 4, in train
    raise ValueError(f"depth {depth} is too much")
ValueError: depth 5 is too much"""
TORCHRUN = """[rank0]: Traceback (most recent call last):
[rank0]:   File "t.py", line 1, in <module>
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
[rank0]:[W1128 ProcessGroupNCCL.cpp:1250] Warning: process group has NOT been destroyed
E1128 12:00:00.000 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1)"""
CUT = """    self.fit(model)
    ^^^^^^^^^^^^^^^
RuntimeError: no data
terminated"""
RAY = """(train pid=77)   File "t.py", line 1, in f
(train pid=77) KeyError: 'auc'"""
MULTILINE = """  File "t.py", line 1, in f
    raise BadDepth
pkg.errors.BadDepth: depth 5
it must be at most 3
and more"""


def words(text: str, code: int | None = 1) -> str:
    return last_words(Failure("p", "Error", code, tuple(text.splitlines())))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRACEBACK, "ValueError: depth 5 is too much"),
        (f"{TRACEBACK}\n\nstep 3 of 10\nbye\n", "ValueError: depth 5 is too much"),
        (TORCHRUN, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
        (CUT, "RuntimeError: no data"),
        (RAY, "KeyError: 'auc'"),
        (MULTILINE, "pkg.errors.BadDepth: depth 5"),
        ("loading\nthere is no data\n", "there is no data"),
        ("usage: t.py [-h]\nt.py: error: unrecognized arguments: --x", "t.py: error: unrecognized arguments: --x"),
        ("", ""),
        ("  \n\n", ""),
        (f"ValueError: {'x' * 400}", f"ValueError: {'x' * 288}…"),
    ],
)  # fmt: skip
def test_the_exception_is_found(text: str, expected: str) -> None:
    assert words(text) == expected


def test_what_a_program_said_before_it_was_killed_is_no_reason() -> None:
    assert words("step 3 of 10", 137) == ""
    assert words("step 3 of 10", None) == ""
    assert last_words(None) == ""
    assert words(TRACEBACK, 137) == "ValueError: depth 5 is too much"


PROGRAMS = {
    "chained": (
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['auc']",
        "KeyError: 'auc'",
    ),
    "caused": (
        "try:\n    1 / 0\nexcept Exception as e:\n    raise RuntimeError('no batch') from e",
        "RuntimeError: no batch",
    ),
    "own": ("class Bad(Exception): pass\nraise Bad", "Bad"),
    "note": ("e = ValueError('a')\ne.add_note('b')\nraise e", "ValueError: a"),
    "syntax": ("exec('a b')", "SyntaxError: invalid syntax"),
    "exit": ("import sys; print('x'); sys.exit('there is no data')", "there is no data"),
    "assertion": ("assert 1 == 2", "AssertionError"),
    "message of lines": ("raise ValueError('one\\ntwo\\n  three')", "ValueError: one"),
    "json": (
        "import json\njson.loads('')",
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_python_prints_is_read(name: str) -> None:
    program, expected = PROGRAMS[name]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert words(done.stderr.decode(), done.returncode) == expected


def test_an_exception_group_has_its_last_exception() -> None:
    async def fail(text: str) -> None:
        raise ValueError(text)

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail("one"))
            group.create_task(fail("two"))

    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(both())
    assert words("".join(traceback.format_exception(raised.value))) == "ValueError: two"
