"""A process that is killed half way, and the next one: what is on the disk is not transferred again."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster.versitygw import S3Server
from tests.in_pod.initializers.counting_proxy import CountingProxy, counting
from tests.in_pod.initializers.initializer_process import Initializer, end_of, kill
from tests.in_pod.initializers.test_s3 import MIB, noise, write
from trainer_infra.in_pod.initializers.download import CONNECTIONS
from trainer_infra.in_pod.initializers.folder import PART

HEADERS = 4096
"""Bytes that an answer has at most besides its content."""


@pytest.fixture
def proxy(s3: S3Server) -> Iterator[CountingProxy]:
    with counting(s3.url) as proxy:
        yield proxy


def parts_on_disk(initializer: Initializer) -> int:
    """How many parts the journal has, each once."""
    lines = (initializer.state / "journal").read_text().splitlines()
    parts = Counter(each["part"][2] for each in map(json.loads, lines) if "part" in each)
    assert set(parts.values()) <= {1}
    return len(parts)


def test_a_killed_download_transfers_at_most_a_part_of_each_connection_twice(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    size = 400 * MIB
    files = write(bucket, {"big.bin": noise(MIB) * 400})
    proxy.hold_after(350 * MIB)
    first = dataset.start(ENDPOINT=proxy.url)
    proxy.wait_until_held()
    kill(first)
    there = parts_on_disk(dataset)
    assert 350 * MIB - CONNECTIONS * PART <= there * PART < size
    assert "big.bin" not in dataset.files()

    proxy.release()
    outcome = dataset.run(ENDPOINT=proxy.url)
    missing = size - there * PART
    requests = -(-missing // PART) + 1
    assert missing <= proxy.sent <= missing + requests * HEADERS
    assert f"; {there * 16}.0 MiB of it are here already" in outcome.output
    assert dataset.files() == files


def test_small_files_that_are_whole_do_not_come_again(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    files = write(bucket, {f"{number}.bin": noise(MIB + number) for number in range(60)})
    proxy.hold_after(40 * MIB)
    first = dataset.start(ENDPOINT=proxy.url)
    proxy.wait_until_held()
    kill(first)
    there = sum(len(each) for each in dataset.files().values())
    assert there >= (40 - CONNECTIONS - 1) * MIB

    proxy.release()
    dataset.run(ENDPOINT=proxy.url)
    missing = sum(len(each) for each in files.values()) - there
    assert missing <= proxy.sent <= missing + 61 * HEADERS
    assert dataset.files() == files


def test_a_download_that_an_older_release_began_goes_on_and_leaves_nothing_in_the_data(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    files = write(bucket, {"big.bin": noise(MIB) * 400})
    proxy.hold_after(350 * MIB)
    first = dataset.start(ENDPOINT=proxy.url)
    proxy.wait_until_held()
    kill(first)
    dataset.target.mkdir(exist_ok=True)
    dataset.state.rename(dataset.target / ".trainer-infra")
    proxy.release()
    outcome = dataset.run(ENDPOINT=proxy.url)
    assert "of it are here already" in outcome.output
    assert dataset.files() == files


def test_a_file_that_was_noted_and_not_moved_is_not_taken_for_what_stands_in_its_place(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    files = write(bucket, {f"{number}.bin": noise(MIB + number) for number in range(60)})
    proxy.hold_after(40 * MIB)
    first = dataset.start(ENDPOINT=proxy.url)
    proxy.wait_until_held()
    kill(first)
    state = dataset.state
    lines = map(json.loads, (state / "journal").read_text().splitlines())
    path, version, size, _ = next(
        each["file"] for each in lines if "file" in each and each["file"][0] in dataset.files()
    )
    name = hashlib.sha256(f"{path}\0{version}".encode()).hexdigest()[:32]
    (dataset.target / path).rename(state / "partial" / name)
    (dataset.target / path).write_bytes(bytes(size))

    proxy.release()
    dataset.run(ENDPOINT=proxy.url)
    assert dataset.files() == files


def test_a_connection_that_breaks_goes_on_where_it_was(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    files = write(bucket, {"big.bin": noise(12 * MIB)})
    proxy.hold_after(5 * MIB)
    running = dataset.start(ENDPOINT=proxy.url)
    proxy.wait_until_held()
    passed = proxy.sent
    proxy.cut()
    proxy.release()
    outcome = end_of(running)
    assert outcome.code == 0, outcome
    assert dataset.files() == files
    # What was under way when it broke is all that may come twice.
    assert proxy.sent <= 12 * MIB - passed + 3 * MIB


def test_after_a_crash_of_the_machine_a_damaged_part_comes_again(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    files = write(bucket, {"big.bin": noise(MIB) * 400})
    proxy.hold_after(350 * MIB)
    first = dataset.start(ENDPOINT=proxy.url)
    proxy.wait_until_held()
    kill(first)
    (partial,) = (dataset.state / "partial").iterdir()
    with partial.open("r+b") as file:
        file.write(b"damaged")
    journal = dataset.state / "journal"
    journal.write_text(journal.read_text().replace('"boot": "', '"boot": "before-'))
    proxy.release()
    dataset.run(ENDPOINT=proxy.url)
    assert dataset.files() == files


def test_a_second_start_asks_for_nothing(
    dataset: Initializer, bucket: Path, proxy: CountingProxy
) -> None:
    write(bucket, {"a": b"a", "b": b"b"})
    dataset.run(ENDPOINT=proxy.url)
    proxy.release()
    outcome = dataset.run(ENDPOINT=proxy.url)
    assert proxy.sent == 0
    assert f"s3://{bucket.name} has been there since " in outcome.output
    assert outcome.output.endswith("2 files, 2 B; nothing to do\n")


def test_a_file_that_was_removed_comes_again(dataset: Initializer, bucket: Path) -> None:
    write(bucket, {"a": b"a", "b": b"b"})
    dataset.run()
    (dataset.target / "a").unlink()
    outcome = dataset.run()
    assert "2 files, 2 B, into" in outcome.output
    assert dataset.files() == {"a": b"a", "b": b"b"}
