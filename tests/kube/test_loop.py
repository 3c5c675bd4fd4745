"""Coroutines and streams run in one background loop, for callers of any thread."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trainer_infra.kube.loop import iterate_in_loop, run_in_loop

ROOT = Path(__file__).resolve().parents[2]


async def thread_name() -> str:
    return threading.current_thread().name


async def sleeper(ended: list[str]) -> None:
    try:
        await asyncio.sleep(60)
    finally:
        ended.append("ended")


def test_all_threads_share_one_loop() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: run_in_loop(thread_name()), range(50)))

    assert found == {"kube-loop"}


def test_an_error_reaches_the_caller() -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_in_loop(fail())


def test_what_takes_too_long_is_cancelled_and_has_ended() -> None:
    ended: list[str] = []
    with pytest.raises(TimeoutError):
        run_in_loop(sleeper(ended), timeout=0.05)

    assert ended == ["ended"]


def test_ctrl_c_cancels_what_runs() -> None:
    ended: list[str] = []
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_in_loop(sleeper(ended))

    assert ended == ["ended"]
    assert time.monotonic() - began < 30


def test_a_call_from_the_loop_itself_is_refused_instead_of_waiting_for_ever() -> None:
    async def inner() -> None:
        run_in_loop(thread_name())

    with pytest.raises(RuntimeError, match="background loop"):
        run_in_loop(inner())


async def count(closed: list[str], until: int = 3) -> AsyncGenerator[int, None]:
    try:
        for number in range(until):
            yield number
    finally:
        closed.append("closed")


def test_items_come_one_by_one_and_the_source_is_closed_at_the_end() -> None:
    closed: list[str] = []
    assert list(iterate_in_loop(count(closed))) == [0, 1, 2]
    assert closed == ["closed"]


def test_closing_the_iterator_closes_the_source() -> None:
    closed: list[str] = []
    items = iterate_in_loop(count(closed, 10**9))
    assert next(items) == 0
    assert closed == []
    items.close()
    assert closed == ["closed"]


def test_ctrl_c_while_waiting_for_an_item_closes_the_source() -> None:
    closed: list[str] = []

    async def slow() -> AsyncGenerator[int, None]:
        try:
            yield 0
            await asyncio.sleep(60)
        finally:
            closed.append("closed")

    items = iterate_in_loop(slow())
    assert next(items) == 0
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(items)

    assert closed == ["closed"]


def test_an_error_of_the_source_reaches_the_caller() -> None:
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        raise ValueError("no")

    items = iterate_in_loop(broken())
    assert next(items) == 1
    with pytest.raises(ValueError, match="no"):
        next(items)


def python(program: str) -> str:
    """What a program prints; it must end well and without a word on stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_forked_child_has_a_loop_of_its_own() -> None:
    printed = python(
        "import os\n"
        "from trainer_infra.kube.loop import run_in_loop\n"
        "async def pid(): return os.getpid()\n"
        "assert run_in_loop(pid()) == os.getpid()\n"
        "child = os.fork()\n"
        "assert run_in_loop(pid()) == os.getpid()\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
        "print('parent' if child else 'child', flush=True)\n"
    )
    assert sorted(printed.split()) == ["child", "parent"]


def test_it_works_while_the_interpreter_ends() -> None:
    printed = python(
        "import atexit\n"
        "from trainer_infra.kube.loop import run_in_loop\n"
        "async def hello(): return 'hello'\n"
        "atexit.register(lambda: print(run_in_loop(hello())))\n"
        "run_in_loop(hello())\n"
    )
    assert printed == "hello\n"


def test_a_client_that_is_not_closed_does_not_spoil_the_end_of_a_program(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        '{"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],'
        ' "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}'
    )
    printed = python(
        "from trainer_infra.kube import http\n"
        "from trainer_infra.kube.loop import run_in_loop\n"
        f"client = run_in_loop(http.connect_client({str(config)!r}))\n"
        "print(client.server)\n"
    )
    assert printed == "http://127.0.0.1:1\n"
