"""Several processes on one volume: one works, the others wait for it, and take over when it dies."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from from_source.cluster.versitygw import S3Server
from from_source.cluster.waiting import wait_until
from tests.in_pod.initializers.counting_proxy import counting
from tests.in_pod.initializers.initializer_process import Initializer, end_of
from tests.in_pod.initializers.test_s3 import MIB, noise, write
from trainer_infra.in_pod.initializers.lock import FolderLock

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(dataset: Initializer) -> Iterator[Start]:
    """Starts processes, none of which outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(**variables: str) -> "subprocess.Popen[str]":
        started.append(dataset.start(**variables))
        return started[-1]

    yield begin
    for each in started:
        each.kill()
        each.communicate()


def test_two_processes_do_the_work_once(
    dataset: Initializer, bucket: Path, s3: S3Server, start: Start
) -> None:
    files = write(bucket, {"big.bin": noise(40 * MIB)})
    with counting(s3.url) as proxy:
        proxy.hold_after(10 * MIB)
        first = start(ENDPOINT=proxy.url)
        proxy.wait_until_held()
        second = start(ENDPOINT=proxy.url)
        assert second.stdout is not None
        line = second.stdout.readline()
        assert f"dataset: waiting for {holder(dataset)}, which says: downloading s3://" in line
        passed = proxy.sent
        proxy.release()
        one, two = end_of(first), end_of(second)
    assert (one.code, two.code) == (0, 0), (one, two)
    assert "dataset: done: " in one.output
    assert "nothing to do" in two.output
    assert passed < 40 * MIB
    assert dataset.files() == files


def holder(initializer: Initializer) -> str:
    name: str = json.loads(initializer.lock_text())["name"]
    return name


def test_a_holder_that_is_killed_is_replaced(
    dataset: Initializer, bucket: Path, s3: S3Server, start: Start
) -> None:
    files = write(bucket, {"big.bin": noise(40 * MIB)})
    with counting(s3.url) as proxy:
        proxy.hold_after(10 * MIB)
        first = start(ENDPOINT=proxy.url)
        proxy.wait_until_held()
        second = start(ENDPOINT=proxy.url)
        assert second.stdout is not None
        assert "waiting for " in second.stdout.readline()
        first.kill()
        proxy.release()
        outcome = end_of(second)
    assert outcome.code == 0, outcome
    assert dataset.files() == files


def test_a_process_that_is_ended_lets_the_next_one_in_at_once(
    dataset: Initializer, bucket: Path, s3: S3Server, start: Start
) -> None:
    files = write(bucket, {"big.bin": noise(40 * MIB)})
    with counting(s3.url) as proxy:
        proxy.hold_after(10 * MIB)
        first = start(ENDPOINT=proxy.url)
        proxy.wait_until_held()
        first.terminate()
        outcome = end_of(first)
        assert outcome.code == 143, outcome
        assert '"released"' in dataset.lock_text()
        proxy.release()
        dataset.run(ENDPOINT=proxy.url)
    assert dataset.files() == files


def other_machine(lock: FolderLock) -> None:
    """Make a lock look as one of another kernel, whose flock says nothing here."""
    path = lock.path(lock.highest())
    path.write_text(path.read_text().replace('"boot": "', '"boot": "other-'))


def test_a_holder_on_another_machine_counts_as_dead_when_it_stands_still(tmp_path: Path) -> None:
    dead, next_one = FolderLock(tmp_path), FolderLock(tmp_path, patience=2.0)
    dead.acquire(lambda _: None)
    dead.ended.set()
    other_machine(dead)
    said: list[str] = []
    next_one.acquire(said.append)
    assert next_one.number == dead.number + 1
    assert said[0].startswith("waiting for ")
    next_one.release()


def test_a_holder_on_another_machine_that_counts_up_is_left_alone(tmp_path: Path) -> None:
    alive, other = FolderLock(tmp_path), FolderLock(tmp_path, patience=3.0)
    alive.acquire(lambda _: None)
    alive.ended.set()
    stop = threading.Event()

    def count_up() -> None:
        while not stop.wait(0.1):
            alive.write("working")
            other_machine(alive)

    beating = threading.Thread(target=count_up)
    beating.start()
    acquired = threading.Event()

    def wait() -> None:
        other.acquire(lambda _: None)
        acquired.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not acquired.wait(6)
    stop.set()
    beating.join()
    alive.release()
    waiting.join()
    assert other.number == alive.number + 1
    other.release()


def test_a_holder_that_was_only_paused_learns_that_it_is_none_any_more(tmp_path: Path) -> None:
    paused, next_one = FolderLock(tmp_path), FolderLock(tmp_path)
    paused.acquire(lambda _: None)
    assert next_one.create(paused.highest() + 1)
    assert wait_until(lambda: paused.is_lost, 60)
    next_one.release()


def test_of_many_that_find_a_dead_holder_one_takes_over(tmp_path: Path) -> None:
    (tmp_path / "lock-7").write_text("{}")
    held: list[FolderLock] = []
    inside, most = 0, 0
    mutex = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        lock = FolderLock(tmp_path, patience=0.5)
        lock.acquire(lambda _: None)
        with mutex:
            inside += 1
            most = max(most, inside)
        held.append(lock)
        with mutex:
            inside -= 1
        lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1
    assert sorted(each.number for each in held) == [8, 9, 10, 11]
    assert [each.name for each in tmp_path.iterdir()] == ["lock-11"]
