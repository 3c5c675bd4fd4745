"""hf:// against a server of the Hub's protocol."""

from pathlib import Path

import pytest

from tests.in_pod.initializers.hub import TOKEN, Hub, Repository
from tests.in_pod.initializers.initializer_process import Initializer

FILES = {
    "README.md": b"# words\n",
    "data/train.txt": b"a b c\n" * 1000,
    "data/large.bin": bytes(range(256)) * 4097,
    "empty": b"",
}


@pytest.fixture
def words(hub: Hub, tmp_path: Path) -> Initializer:
    hub.repositories["datasets/org/words"] = Repository(
        FILES, {"main": "c" * 40, "v1": "d" * 40, "refs/pr/1": "e" * 40}
    )
    return Initializer(tmp_path, {"STORAGE_URI": "hf://org/words", "HF_ENDPOINT": hub.url})


def test_a_dataset_arrives_at_one_commit(words: Initializer) -> None:
    outcome = words.run()
    assert words.files() == FILES
    assert f"downloading hf://org/words at {'c' * 40}: 4 files" in outcome.output


def test_another_hub_is_another_place(words: Initializer) -> None:
    words.run()
    with Hub() as other:
        other.repositories["datasets/org/words"] = Repository({"b.txt": b"of another"})
        words.run(HF_ENDPOINT=other.url)
    assert words.files() == {"b.txt": b"of another"}


def test_only_the_first_segment_after_the_organization_names_a_dataset(words: Initializer) -> None:
    words.run(STORAGE_URI="hf://org/words/data/train.txt")
    assert words.files() == FILES


@pytest.mark.parametrize(("revision", "commit"), [("v1", "d"), ("refs/pr/1", "e"), ("d" * 40, "d")])
def test_a_revision_follows_an_at_sign(words: Initializer, revision: str, commit: str) -> None:
    outcome = words.run(STORAGE_URI=f"hf://org/words@{revision}")
    assert f" at {commit * 40}: 4 files" in outcome.output


def test_a_large_file_comes_in_ranges_from_another_host_which_gets_no_token(
    words: Initializer, hub: Hub
) -> None:
    files = {"large.bin": bytes(range(256)) * 4096 * 40}
    hub.repositories["datasets/org/words"] = Repository(files)
    words.run(ACCESS_TOKEN=TOKEN)
    assert words.files() == files
    blobs = [headers for path, headers in hub.cdn.requests if "secret-signature" in path]
    assert sorted(each["Range"] for each in blobs) == [
        "bytes=0-16777215",
        "bytes=16777216-33554431",
        "bytes=33554432-41943039",
    ]
    assert [each for each in blobs if "Authorization" in each] == []
    assert {each["Accept-Encoding"] for each in blobs} == {"identity"}


def test_a_private_model_needs_the_token_and_its_name_may_have_one_part(
    hub: Hub, tmp_path: Path
) -> None:
    hub.repositories["models/org/tiny"] = Repository(
        {"config.json": b"{}", "weights.bin": b"w", "weights.safetensors": b"s"}, is_private=True
    )
    hub.repositories["models/gpt2"] = Repository({"config.json": b"2"})
    model = Initializer(tmp_path, {"STORAGE_URI": "hf://org/tiny", "HF_ENDPOINT": hub.url}, "model")
    model.run(1)
    model.run(ACCESS_TOKEN=TOKEN)
    assert model.files() == {"config.json": b"{}", "weights.safetensors": b"s"}
    model.run(STORAGE_URI="hf://gpt2@main")
    assert model.files() == {"config.json": b"2"}


def test_a_tree_of_several_pages_arrives_whole(words: Initializer, hub: Hub) -> None:
    files = {f"{number:04}.txt": str(number).encode() for number in range(210)}
    hub.repositories["datasets/org/words"] = Repository(files)
    words.run()
    assert words.files() == files


def test_a_damaged_file_is_not_kept_and_comes_again(words: Initializer, hub: Hub) -> None:
    hub.damages = True
    outcome = words.run(1)
    assert "data/large.bin: arrived damaged: its sha256 is " in outcome.errors
    assert "data/large.bin" not in words.files()
    hub.damages = False
    words.run()
    assert words.files() == FILES
