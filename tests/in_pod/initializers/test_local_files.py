"""file:// and pvc:// on this machine."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from tests.in_pod.initializers.initializer_process import Initializer, end_of
from tests.in_pod.initializers.test_s3 import MIB, noise, write
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.settings import read_settings
from trainer_infra.in_pod.initializers.sources.file import LocalSource


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "a source"


@pytest.fixture
def dataset(tmp_path: Path, source: Path) -> Initializer:
    uri = f"file://{source}".replace(" ", "%20")
    return Initializer(tmp_path / "volume", {"STORAGE_URI": uri})


@pytest.mark.parametrize("kind", ["dataset", "model"])
def test_an_initializer_works_as_its_image_starts_it(
    dataset: Initializer, source: Path, kind: str
) -> None:
    """Elsewhere it starts warm, which hides what only another source imports."""
    write(source, {"a": b"a"})
    pod = Initializer(dataset.volume, dataset.environment, kind)
    outcome = end_of(pod.start())
    assert (outcome.code, outcome.errors) == (0, ""), outcome
    assert pod.files() == {"a": b"a"}


def test_a_folder_is_copied_and_its_links_are_followed(dataset: Initializer, source: Path) -> None:
    """A cache of the Hub has links from its snapshots to its blobs."""
    files = write(source, {"blobs/1": noise(20 * MIB), "snapshot/a.txt": b"a"})
    (source / "snapshot" / "big.bin").symlink_to("../blobs/1")
    (source / "snapshot" / "again").symlink_to("../snapshot")
    dataset.run(STORAGE_URI=dataset.environment["STORAGE_URI"] + "/snapshot")
    assert dataset.files() == {"a.txt": b"a", "big.bin": files["blobs/1"]}


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="macOS has none")
def test_a_folder_of_another_file_system_is_copied(dataset: Initializer) -> None:
    """Of one's own the file system shares the blocks, if it can."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        files = write(Path(memory), {"a": noise(20 * MIB), "b": b"b"})
        dataset.run(STORAGE_URI=Path(memory).as_uri())
    assert dataset.files() == files


def test_a_training_that_writes_to_its_data_leaves_the_source_as_it_is(
    dataset: Initializer, source: Path
) -> None:
    files = write(source, {"a": noise(17 * MIB), "b": b"b"})
    dataset.run()
    for path in files:
        with (dataset.target / path).open("r+b") as file:
            file.write(b"changed")
    assert {path: (source / path).read_bytes() for path in files} == files


def test_a_link_to_nothing_is_a_failure(dataset: Initializer, source: Path) -> None:
    write(source, {"a": b"a"})
    (source / "b").symlink_to("missing")
    said = "is a link to nothing; remove it or what it misses"
    assert dataset.run(1).errors == f"dataset: {source / 'b'}: {said}\n"


def test_one_file_and_a_change_of_it(dataset: Initializer, source: Path) -> None:
    write(source.parent, {source.name: b"one"})
    dataset.run()
    assert dataset.files() == {source.name: b"one"}
    assert "nothing to do" in dataset.run().output


def test_a_claim_is_where_the_driver_mounts_it(dataset: Initializer, source: Path) -> None:
    write(source, {"words/a": b"a", "other": b"o"})
    mounts = {"/workspace": str(dataset.volume), "/opt/trainer-infra/claims/data": str(source)}
    environment = {"TRAINER_INFRA_MOUNTS": json.dumps(mounts)}
    claim = Initializer(dataset.volume, environment)
    claim.run(STORAGE_URI="pvc://data/words")
    assert claim.files() == {"a": b"a"}
    outcome = claim.run(1, STORAGE_URI="pvc://data/missing")
    assert "there is no " in outcome.errors
    assert "the claim has other, words\n" in outcome.errors
    write(source, {"two words/b": b"b"})
    claim.run(STORAGE_URI="pvc://data/two%20words")
    assert claim.files() == {"b": b"b"}
    outcome = claim.run(1, STORAGE_URI="pvc://data/../../etc")
    said = "leads out of the claim; write the path below it"
    assert outcome.errors == f"dataset: pvc://data/../../etc: {said}\n"


def test_without_done_what_changed_comes_again_and_what_is_not_ours_stays(
    dataset: Initializer, source: Path
) -> None:
    write(source, {"a": b"a", "deep/b": b"b", "gone": b"g"})
    dataset.run()
    write(source, {"a": b"another"})
    (source / "gone").unlink()
    write(dataset.target, {"mine": b"mine"})
    (dataset.state / "done").unlink()
    dataset.run()
    assert dataset.files() == {"a": b"another", "deep/b": b"b", "mine": b"mine"}


def test_what_an_initializer_fetched_is_a_source_for_another(
    dataset: Initializer, source: Path, tmp_path: Path
) -> None:
    write(source, {"a": b"a", "deep/b": b"b"})
    dataset.run()
    model = Initializer(tmp_path / "second", {"STORAGE_URI": dataset.target.as_uri()}, "model")
    model.run()
    assert model.files() == {"a": b"a", "deep/b": b"b"}
    assert not (model.target / "deep" / ".trainer-infra").exists()


@pytest.mark.parametrize("below", ["", "dataset", "dataset/part"])
def test_a_folder_is_not_copied_into_itself(dataset: Initializer, source: Path, below: str) -> None:
    write(source, {"part/a": b"a"})
    dataset.run()
    goal = dataset.volume / below
    said = f"and the target {dataset.target} are one folder, or one is in the other"
    outcome = dataset.run(1, STORAGE_URI=goal.as_uri())
    assert outcome.errors == f"dataset: {goal.as_uri()}: {said}; name another folder\n"
    assert dataset.files() == {"part/a": b"a"}


def test_a_pipe_is_no_file(dataset: Initializer, source: Path) -> None:
    write(source, {"a": b"a"})
    os.mkfifo(source / "pipe")
    said = "is a pipe, a socket or a device; leave it out with IGNORE_PATTERNS"
    for uri in (source, source / "pipe"):
        outcome = dataset.run(1, STORAGE_URI=uri.as_uri())
        assert outcome.errors == f"dataset: {source / 'pipe'}: {said}\n"
    dataset.run(IGNORE_PATTERNS="pipe")
    assert dataset.files() == {"a": b"a"}


def test_a_name_that_is_no_text_arrives(dataset: Initializer, source: Path) -> None:
    write(source, {os.fsdecode(b"caf\xe9"): b"a"})
    dataset.run()
    assert dataset.files() == {os.fsdecode(b"caf\xe9"): b"a"}
    assert "nothing to do" in dataset.run().output


@pytest.mark.parametrize("content", [b"after!", b"longer after"])
def test_a_file_that_changes_while_it_is_copied_is_refused(source: Path, content: bytes) -> None:
    write(source, {"a": b"before"})
    settings = read_settings("dataset", {"STORAGE_URI": source.as_uri()})
    files = LocalSource(settings, source, "")
    (file,) = files.list_files().files
    assert b"".join(files.read(file, 0, file.size)) == b"before"
    write(source, {"a": content})
    os.utime(source / "a", ns=(0, 0))
    with pytest.raises(DownloadFailure, match="a: was changed while it was copied; start again"):
        list(files.read(file, 0, file.size))
