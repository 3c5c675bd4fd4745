"""Image archives: what is in them, and that the same files give the same archive."""

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from from_source.cluster import images
from trainer_infra.errors import NotAvailable

NAME = "trainer-infra.local/test:1"


def folder(place: Path) -> Path:
    root = place / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "tool").write_text("tool")
    (root / "bin" / "tool").chmod(0o755)
    (root / "bin" / "other").symlink_to("tool")
    return root


def test_an_archive_has_one_layer_under_its_name_and_belongs_to_root(tmp_path: Path) -> None:
    file = tmp_path / "image.tar"
    config = {"Entrypoint": ["/bin/tool"], "User": "65532:65532"}
    images.archive(file, NAME, folder(tmp_path), config=config)

    with tarfile.open(file) as whole:
        assert whole.getnames()[0] == "manifest.json"
        content = {each.name: whole.extractfile(each) for each in whole.getmembers()}
        parts = {name: each.read() for name, each in content.items() if each is not None}
    (manifest,) = json.loads(parts["manifest.json"])
    (layer,) = manifest["Layers"]
    assert manifest["RepoTags"] == [NAME]
    assert manifest["Config"] == f"{hashlib.sha256(parts[manifest['Config']]).hexdigest()}.json"
    described = json.loads(parts[manifest["Config"]])
    assert described["config"] == config
    assert described["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(parts[layer]).hexdigest()}"]
    (tmp_path / "layer.tar").write_bytes(parts[layer])
    with tarfile.open(tmp_path / "layer.tar") as packed:
        assert {
            each.name: (oct(each.mode), each.uid, each.mtime, each.linkname) for each in packed
        } == {
            "bin": ("0o755", 0, 0, ""),
            "bin/other": ("0o777", 0, 0, "tool"),
            "bin/tool": ("0o755", 0, 0, ""),
        }


def test_the_same_files_give_the_same_archive_whenever_they_were_written(tmp_path: Path) -> None:
    root = folder(tmp_path)
    images.archive(tmp_path / "first.tar", NAME, root, config={})
    os.utime(root / "bin" / "tool", (1, 1))
    images.archive(tmp_path / "second.tar", NAME, root, config={})
    assert (tmp_path / "first.tar").read_bytes() == (tmp_path / "second.tar").read_bytes()


def test_a_layer_that_is_a_tar_already_is_taken_as_it_is(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as packed:
        packed.add(folder(tmp_path), "data")
    images.archive(tmp_path / "image.tar", NAME, layer, config={})
    with tarfile.open(tmp_path / "image.tar") as whole:
        content = whole.extractfile(f"{hashlib.sha256(layer.read_bytes()).hexdigest()}.tar")
        assert content is not None
        assert content.read() == layer.read_bytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["image.tar", "layer.tar", "root"]


def test_without_a_cluster_made_here_there_is_nothing_to_load_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path))
    with pytest.raises(NotAvailable, match=f"image {NAME} can be loaded only into the cluster"):
        images.loaded(NAME, tmp_path / "image.tar")
