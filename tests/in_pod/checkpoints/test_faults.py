"""What a place does that is full, slow, read-only or gone, and what two runs do in one."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.in_pod.checkpoints.programs import PROGRAM, UNDISTURBED, killed_at, run, steps_of

BIG = PROGRAM.replace('"sum": 0.0}', '"sum": 0.0, "data": b""}').replace(
    '"sum": state["sum"] + step * 0.1}',
    '"sum": state["sum"] + step * 0.1, "data": os.urandom(3 << 20 if step + 1 >= 20 else 10)}',
)
"""Its state does not fit from step 20 on."""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user may mount nothing")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_the_save_and_not_the_training(small: Path) -> None:
    done = run(small, program=BIG)
    assert (done.code, done.last) == (0, UNDISTURBED)
    sentence = (
        f"the checkpoint of step 20 could not be written to {small}: [Errno 28] No space left on device. "
        "The training goes on; the newest whole one is that of step 15"
    )
    assert sentence in done.err
    assert steps_of(small) == [5, 10, 15]
    # What the tries left would keep the disk full.
    assert sum(each.stat().st_size for each in small.rglob("*")) < 1 << 20


def test_a_limit_on_files_ends_the_save_and_not_the_training(tmp_path: Path) -> None:
    limited = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
    )
    done = run(tmp_path, program=limited + BIG)
    assert (done.code, done.last) == (0, UNDISTURBED)
    assert "could not be written" in done.err
    assert "File too large" in done.err


def test_a_place_that_is_read_only_is_found_before_the_first_step(small: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    done = run(small)
    assert (done.code, done.out) == (1, "")
    assert (
        f"checkpoints cannot be written to {small}: [Errno 30] Read-only file system" in done.error
    )


def test_a_place_that_becomes_read_only_ends_the_saves(small: Path) -> None:
    changing = PROGRAM.replace(
        "    checkpointer.step(",
        "    if step + 1 == 13:\n"
        "        [each.join() for each in threading.enumerate() if each.name.startswith('checkpoint-')]\n"
        f"        os.system('mount -o remount,ro {small}')\n"
        "    checkpointer.step(",
    )
    done = run(small, program=changing)
    assert (done.code, done.last) == (0, UNDISTURBED)
    assert "the checkpoint of step 15 could not be written" in done.err
    assert "the newest whole one is that of step 10" in done.err


def test_a_place_that_is_gone_and_comes_again_goes_on(tmp_path: Path) -> None:
    """As a volume that is mounted anew: what was in it is not there for a while."""
    place, away = tmp_path / "place", tmp_path / "away"
    changing = PROGRAM.replace(
        "    checkpointer.step(",
        "    if step + 1 in (13, 23):\n"
        "        [each.join() for each in threading.enumerate() if each.name.startswith('checkpoint-')]\n"
        "    if step + 1 == 13:\n"
        f"        os.rename({str(place)!r}, {str(away)!r}); open({str(place)!r}, 'w').close()\n"
        "    if step + 1 == 23:\n"
        f"        os.unlink({str(place)!r}); os.rename({str(away)!r}, {str(place)!r})\n"
        "    checkpointer.step(",
    )
    done = run(place, program=changing, keep=9)
    assert (done.code, done.last) == (0, UNDISTURBED)
    assert done.err.count("could not be written") == 2
    assert steps_of(place) == [5, 10, 25, 30, 35, 40]


def test_a_slow_place_is_told_of_when_a_save_takes_longer_than_there_is_time(
    tmp_path: Path,
) -> None:
    done = run(tmp_path, save_seconds=0.000001)
    assert "the checkpoint of step 5 took 0 s, and save_seconds is 1e-06" in done.err
    assert done.last == UNDISTURBED


def test_a_later_run_goes_on_with_the_checkpoints_of_one_that_was_killed(tmp_path: Path) -> None:
    killed_at(tmp_path, 8)
    done = run(tmp_path, run="vision/letters")
    assert (done.code, done.begins, done.last) == (0, 5, UNDISTURBED)
    assert f"run vision/digits wrote its checkpoints to {tmp_path} until" in done.err


def test_a_run_whose_place_another_attempt_has_taken_ends(tmp_path: Path) -> None:
    taken = PROGRAM.replace(
        "    checkpointer.step(",
        "    if step + 1 == 13:\n"
        "        import subprocess\n"
        "        again = open(f'/proc/{os.getpid()}/cmdline').read().split(chr(0))\n"
        "        subprocess.run([*again[:3], '0', '0', '23'])\n"
        "    checkpointer.step(",
    ).replace("== 13", "== 13 and not killed")
    done = run(tmp_path, program=taken)
    assert done.code == 1
    assert "another attempt of this run has begun to write its checkpoints" in done.error
    assert steps_of(tmp_path) == [10, 15, 20]


def test_a_kept_one_is_never_the_only_one_that_goes(tmp_path: Path) -> None:
    run(tmp_path, keep=1)
    assert steps_of(tmp_path) == [40]
    shutil.rmtree(tmp_path / "step-0000000040")
    assert run(tmp_path, keep=1).begins == 0
