"""Places of every kind keep files in the same way."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from from_source.cluster.versitygw import S3Server
from tests.in_pod.checkpoints.programs import PROGRAM, UNDISTURBED, run_with, steps_of
from trainer_infra.in_pod.checkpoints.place import (
    Bucket,
    CheckpointPlace,
    FileSystem,
    Folder,
    open_place,
)

KINDS: dict[str, Callable[[Path], CheckpointPlace]] = {
    "a folder": lambda folder: Folder(str(folder)),
    "a bucket by obstore": lambda folder: Bucket(f"file://{folder}"),
    "a folder by fsspec": lambda folder: FileSystem(f"file://{folder}"),
    "memory by fsspec": lambda folder: FileSystem(f"memory:/{folder}"),
}


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointPlace:
    made: CheckpointPlace = request.param(tmp_path)
    return made


def test_a_file_is_read_whole_and_in_parts(place: CheckpointPlace) -> None:
    place.write("step-1/a/x.bin", [b"0123", b"", b"456789"])
    assert place.read("step-1/a/x.bin") == b"0123456789"
    assert place.read("step-1/a/x.bin", 2, 5) == b"23456"
    assert place.read("step-1/a/x.bin", 4) == b"456789"
    assert place.read("step-1/a/x.bin", 3, 0) == b""


def test_a_file_of_many_pieces_is_as_it_was(place: CheckpointPlace) -> None:
    content = bytes(range(256)) * (150 << 10)
    place.write("big", [content[:7], content[7:]])
    assert place.read("big") == content
    assert place.read("big", 20_000_000, 300) == content[20_000_000:20_000_300]


def test_files_are_listed_by_folder(place: CheckpointPlace) -> None:
    assert place.names() == place.names("no-such") == []
    for name in ("b/2", "b/1", "a", "bb/3"):
        place.write(name, [b"x"])
    assert place.names() == ["a", "b/1", "b/2", "bb/3"]
    assert place.names("b") == ["b/1", "b/2"]


def test_a_file_is_replaced_and_removed_also_twice(place: CheckpointPlace) -> None:
    for content in (b"long content", b"short"):
        place.write("a/b", [content])
    assert place.read("a/b") == b"short"
    for _ in range(2):
        place.remove("a/b")
    assert place.names() == []
    with pytest.raises(FileNotFoundError):
        place.read("a/b")


def test_of_a_file_that_is_not_finished_nothing_is_there(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"some"
        raise OSError("the network is down")

    for each in (Folder(str(tmp_path)), Bucket(f"file://{tmp_path}")):
        with pytest.raises(OSError, match="the network is down"):
            each.write("a", broken())
        assert each.names() == []


def test_an_address_of_a_scheme_that_nobody_knows_is_refused() -> None:
    with pytest.raises(OSError, match="nosuch"):
        open_place("nosuch://bucket/path").names()


def test_a_run_in_a_bucket_goes_on(s3: S3Server, bucket: Path) -> None:
    value = {"place": f"s3://{bucket.name}/runs/1", "run": "vision/digits", "every_steps": 5}
    variables = {
        "TRAINER_INFRA_CHECKPOINT": json.dumps(value),
        "AWS_ENDPOINT_URL": s3.url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": s3.access_key,
        "AWS_SECRET_ACCESS_KEY": s3.secret_key,
        "AWS_REGION": "us-east-1",
    }
    told = run_with(variables, 17, 1, 0, program=PROGRAM)
    assert (told.code, told.begins) == (143, 0), told.err
    resumed = run_with(variables)
    assert (resumed.begins, resumed.last) == (17, UNDISTURBED)
    assert steps_of(bucket / "runs" / "1") == [27, 32, 37]
