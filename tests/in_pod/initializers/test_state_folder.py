"""What an initializer keeps of its own: never in the data, and never lost with what an older release left."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import write
from trainer_infra.in_pod.initializers.lock import FolderLock, LockLost
from trainer_infra.in_pod.initializers.settings import is_mount_point, state_folder, take_over

FILES = {"politics/a.txt": b"a", "sport/b.txt": b"b"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write(tmp_path / "news", FILES)
    return tmp_path / "news"


@pytest.fixture
def dataset(tmp_path: Path, source: Path) -> Initializer:
    return Initializer(tmp_path / "volume", {"STORAGE_URI": source.as_uri()})


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that every user may look into; pytest's own are its user's alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def leave_as_an_older_release(initializer: Initializer) -> Path:
    """The folder in which it kept its files."""
    return initializer.state.rename(initializer.target / ".trainer-infra")


def test_a_dataset_whose_folders_are_its_classes_has_no_other_folder(dataset: Initializer) -> None:
    dataset.run()
    assert names(dataset.target) == ["politics", "sport"]
    assert names(dataset.volume) == [".trainer-infra-dataset", "dataset"]


def test_a_dataset_and_a_model_of_one_volume_know_nothing_of_each_other(
    dataset: Initializer,
) -> None:
    model = Initializer(dataset.volume, dataset.environment, "model")
    dataset.run()
    model.run()
    shutil.rmtree(model.state)
    assert "nothing to do" in dataset.run().output
    assert model.files() == dataset.files() == FILES


def test_a_volume_that_is_the_target_itself_keeps_all_on_it_and_the_log_says_so(
    dataset: Initializer,
) -> None:
    own = dataset.volume / "claims" / "data"
    mounts = json.dumps({"/workspace/dataset": str(own)})
    outcome = dataset.run(TRAINER_INFRA_MOUNTS=mounts)
    assert names(own) == [".trainer-infra", "politics", "sport"]
    assert names(own.parent) == ["data"]
    assert f"{own}/.trainer-infra is ours, and a program that takes each folder" in outcome.output
    assert "nothing to do" in dataset.run(TRAINER_INFRA_MOUNTS=mounts).output


def test_a_link_to_another_volume_keeps_all_there(dataset: Initializer) -> None:
    elsewhere = dataset.volume / "elsewhere"
    elsewhere.mkdir(parents=True)
    dataset.target.symlink_to(elsewhere)
    dataset.run()
    assert names(elsewhere) == [".trainer-infra", "politics", "sport"]


def test_a_folder_that_alone_is_ours_to_write_keeps_all_in_it(readable: Path) -> None:
    target = readable / "dataset"
    target.mkdir()
    assert state_folder(target, readable) == readable / ".trainer-infra-dataset"
    readable.chmod(0o555)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        assert state_folder(target, readable) == target / ".trainer-infra"
    finally:
        os.seteuid(me)
        readable.chmod(0o755)


def test_what_the_kernel_has_mounted_is_a_volume_of_its_own(tmp_path: Path) -> None:
    assert is_mount_point(Path("/proc"))
    assert not is_mount_point(tmp_path)


def test_what_an_older_release_finished_is_not_fetched_again(dataset: Initializer) -> None:
    dataset.run()
    leave_as_an_older_release(dataset)
    assert "2 files, 2 B; nothing to do" in dataset.run().output
    assert names(dataset.target) == ["politics", "sport"]


def test_what_an_older_release_left_after_a_newer_one_counts(
    dataset: Initializer, source: Path
) -> None:
    dataset.run()
    shutil.copytree(dataset.state, dataset.target / ".trainer-infra")
    (dataset.state / "done").write_text("of before")
    write(source, {"sport/c.txt": b"c"})
    assert "nothing to do" in dataset.run().output
    assert names(dataset.target) == ["politics", "sport"]


def test_an_older_release_that_still_works_loses_its_lock(tmp_path: Path) -> None:
    target = tmp_path / "dataset"
    lock = FolderLock(target / ".trainer-infra")
    lock.acquire(print)
    take_over(target, tmp_path / ".trainer-infra-dataset")
    with pytest.raises(LockLost):
        lock.check()
    lock.release()
    assert FolderLock(tmp_path / ".trainer-infra-dataset").highest() == 1


def test_a_whole_workspace_is_a_source_without_what_its_initializers_kept(
    dataset: Initializer, tmp_path: Path
) -> None:
    dataset.run()
    second = Initializer(tmp_path / "second", {"STORAGE_URI": dataset.volume.as_uri()})
    second.run()
    assert second.files() == {f"dataset/{path}": content for path, content in FILES.items()}
