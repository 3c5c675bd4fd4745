"""s3:// against a real S3 server."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]  # it has no types
import pytest

from from_source.cluster.versitygw import REGION, S3Server
from tests.in_pod.initializers.initializer_process import Initializer

MIB = 1 << 20


def write(folder: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """Put files into a bucket."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return files


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@contextmanager
def s3_client(s3: S3Server) -> Iterator[Any]:
    """Amazon's own client."""
    client = boto3.client(
        "s3",
        endpoint_url=s3.url,
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
        region_name=REGION,
    )
    yield client
    client.close()


def upload(s3: S3Server, bucket: Path, name: str, content: bytes) -> None:
    """Put an object as a client does, which gives it an ETag."""
    with s3_client(s3) as client:
        client.put_object(Bucket=bucket.name, Key=name, Body=content)


def test_a_bucket_arrives_with_big_small_and_empty_files(
    dataset: Initializer, bucket: Path
) -> None:
    files = write(
        bucket,
        {
            "a b/ü%41#?.txt": b"strange",
            "big.bin": noise(40 * MIB + 7),
            "empty": b"",
            "deep/er/x.txt": b"x",
        },
    )
    outcome = dataset.run()
    assert dataset.files() == files
    assert f"downloading s3://{bucket.name}: 4 files, 40.0 MiB" in outcome.output
    assert "dataset: done: 4 files, 40.0 MiB in " in outcome.output


def test_a_thousand_small_files_and_a_big_one_arrive(dataset: Initializer, bucket: Path) -> None:
    files = write(bucket, {f"{number % 10}/{number}.txt": noise(number) for number in range(1000)})
    files |= write(bucket, {"big.bin": noise(MIB) * 400})
    dataset.run()
    assert dataset.files() == files


@pytest.mark.soak
def test_ten_thousand_small_files_and_four_gibibytes_arrive(
    dataset: Initializer, bucket: Path
) -> None:
    files = write(
        bucket, {f"{number % 100}/{number}": noise(number % 4096) for number in range(10_000)}
    )
    block = noise(MIB)
    with (bucket / "big.bin").open("wb") as big:
        big.writelines(block for _ in range(4096))
    dataset.run()
    with (dataset.target / "big.bin").open("rb") as big:
        assert all(big.read(MIB) == block for _ in range(4096))
        assert big.read() == b""
    (dataset.target / "big.bin").unlink()
    assert dataset.files() == files


def test_a_folder_leaves_out_what_only_begins_like_it(dataset: Initializer, bucket: Path) -> None:
    write(bucket, {"train/a": b"a", "train/sub/b": b"b", "training/c": b"c", "d": b"d"})
    dataset.run(STORAGE_URI=f"s3://{bucket.name}/train")
    assert dataset.files() == {"a": b"a", "sub/b": b"b"}


def test_one_object_has_its_last_name(dataset: Initializer, bucket: Path) -> None:
    write(bucket, {"train/a.csv": b"1,2"})
    dataset.run(STORAGE_URI=f"s3://{bucket.name}/train/a.csv")
    assert dataset.files() == {"a.csv": b"1,2"}


def test_an_object_that_stands_for_a_folder_is_none(
    dataset: Initializer, bucket: Path, s3: S3Server
) -> None:
    for name, content in (("data/", b""), ("data/sub/", b""), ("data/sub/y", b"y")):
        upload(s3, bucket, name, content)
    dataset.run(STORAGE_URI=f"s3://{bucket.name}/data")
    assert dataset.files() == {"sub/y": b"y"}


def test_patterns_are_for_the_path_and_for_the_whole_key(
    dataset: Initializer, bucket: Path
) -> None:
    write(bucket, {"d/a.csv": b"a", "d/b.txt": b"b", "d/c/e.csv": b"c", "d/f/g.csv": b"f"})
    dataset.run(
        STORAGE_URI=f"s3://{bucket.name}/d", ALLOW_PATTERNS="*.csv", IGNORE_PATTERNS="c/, d/f/*"
    )
    assert dataset.files() == {"a.csv": b"a"}


def test_a_model_leaves_other_formats_out_unless_the_variable_is_set(
    dataset: Initializer, bucket: Path
) -> None:
    files = write(bucket, {"m.safetensors": b"m", "m.bin": b"b", "old/m.pth": b"p"})
    model = Initializer(dataset.volume, dataset.environment, "model")
    model.run()
    assert model.files() == {"m.safetensors": b"m"}
    model.run(IGNORE_PATTERNS="")
    assert model.files() == files


def test_keys_may_have_the_names_of_aws(dataset: Initializer, bucket: Path, s3: S3Server) -> None:
    write(bucket, {"a": b"a"})
    environment = {
        "STORAGE_URI": f"s3://{bucket.name}",
        "ENDPOINT": s3.url,
        "AWS_ACCESS_KEY_ID": s3.access_key,
        "AWS_SECRET_ACCESS_KEY": s3.secret_key,
        "AWS_REGION": REGION,
    }
    other = Initializer(dataset.volume, environment)
    other.run()
    assert other.files() == {"a": b"a"}


def test_an_object_is_compared_with_its_md5(
    dataset: Initializer, bucket: Path, s3: S3Server
) -> None:
    upload(s3, bucket, "digits", b"0123456789")
    (bucket / "digits").write_bytes(b"012345678X")
    outcome = dataset.run(1)
    assert "digits: arrived damaged: its md5 is " in outcome.errors
    assert dataset.files() == {}


def test_what_another_uri_has_too_is_kept_and_the_rest_replaced(
    dataset: Initializer, bucket: Path, s3: S3Server
) -> None:
    for name in ("a/same", "b/same"):
        upload(s3, bucket, name, b"0123456789")
    write(bucket, {"a/sub/only": b"a", "b/only": b"b"})
    dataset.run(STORAGE_URI=f"s3://{bucket.name}/a")
    (dataset.target / "of-the-user").write_text("stays")
    outcome = dataset.run(STORAGE_URI=f"s3://{bucket.name}/b")
    assert dataset.files() == {"same": b"0123456789", "only": b"b", "of-the-user": b"stays"}
    assert not (dataset.target / "sub").exists()
    assert "; 10 B of it are here already" in outcome.output
