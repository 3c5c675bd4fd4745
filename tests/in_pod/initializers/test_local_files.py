"""file:// and pvc:// on this machine."""

import json
from pathlib import Path

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import MIB, noise, write


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "a source"


@pytest.fixture
def dataset(tmp_path: Path, source: Path) -> Initializer:
    uri = f"file://{source}".replace(" ", "%20")
    return Initializer(tmp_path / "volume", {"STORAGE_URI": uri})


def test_a_folder_is_copied_and_its_links_are_followed(dataset: Initializer, source: Path) -> None:
    """A cache of the Hub has links from its snapshots to its blobs."""
    files = write(source, {"blobs/1": noise(20 * MIB), "snapshot/a.txt": b"a"})
    (source / "snapshot" / "big.bin").symlink_to("../blobs/1")
    (source / "snapshot" / "again").symlink_to("../snapshot")
    dataset.run(STORAGE_URI=dataset.environment["STORAGE_URI"] + "/snapshot")
    assert dataset.files() == {"a.txt": b"a", "big.bin": files["blobs/1"]}


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
    outcome = claim.run(1, STORAGE_URI="pvc://data/../../etc")
    said = "leads out of the claim; write the path below it"
    assert outcome.errors == f"dataset: pvc://data/../../etc: {said}\n"
