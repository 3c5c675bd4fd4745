"""A pod's first process ends as its program did, and with 143 when it was told to end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trainer_infra.in_pod import init

READY = "print('ready', flush=True); time.sleep(60)"
HANDLERS = {
    "without a handler": "pass",
    "that ends with 0": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))",
    "that ends with 0 at once": "signal.signal(signal.SIGTERM, lambda *_: os._exit(0))",
    "that ends with 1, as torchrun does": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))",
    "that is interrupted": "signal.signal(signal.SIGTERM, signal.default_int_handler)",
    "that is killed": "signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))",
}


def started(*command: str) -> "subprocess.Popen[str]":
    words = [sys.executable, str(init.__file__), *command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def program(text: str) -> "subprocess.Popen[str]":
    """One that has said that it is ready."""
    process = started(sys.executable, "-c", f"import os, signal, sys, time; {text}; {READY}")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def ended(process: "subprocess.Popen[str]") -> int:
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=list(HANDLERS))
def test_a_program_that_was_told_to_end_ends_with_143(handler: str) -> None:
    process = program(handler)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 143


def test_it_ends_as_its_program_did() -> None:
    for code in (0, 1, 7):
        assert ended(started(sys.executable, "-c", f"raise SystemExit({code})")) == code
    assert ended(started(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")) == 137


def test_other_signals_are_handed_on_and_say_nothing_of_the_end() -> None:
    process = program("signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3))")
    process.send_signal(signal.SIGUSR1)
    assert ended(process) == 3


def test_a_signal_to_its_group_reaches_the_program_once() -> None:
    counting = (
        "n = []; signal.signal(signal.SIGTERM, lambda *_: n.append(1) or print(len(n), flush=True))"
    )
    words = [sys.executable, str(init.__file__), sys.executable, "-c"]
    text = f"import os, signal, sys, time; {counting}; print('ready', flush=True)\nfor _ in range(20): time.sleep(.1)"
    process = subprocess.Popen(
        [*words, text], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert said == "1\n"
    assert process.returncode == 143


def test_a_command_that_is_not_there_is_named() -> None:
    process = started("no-such-program")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (
        127,
        "cannot start no-such-program: No such file or directory\n",
    )


def test_children_whose_parent_has_ended_leave_no_zombie(tmp_path: Path) -> None:
    """As the first process of a namespace of its own, as a kubelet starts it."""
    orphan = "(sleep 0.1 &) ; sleep 0.5; grep -s State /proc/[0-9]*/status | grep -c zombie"
    done = subprocess.run(
        [
            "unshare",
            "--pid",
            "--fork",
            "--mount-proc",
            sys.executable,
            str(init.__file__),
            "sh",
            "-c",
            orphan,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout == "0\n", done.stderr
