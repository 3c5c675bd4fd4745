"""Manifests that a program names: files, folders, kustomizations, pages."""

import json
from pathlib import Path

import pytest

from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.platform.manifests.manifest_source import manifest_objects
from trainer_infra.platform.manifests.manifest_text import objects_of_text

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
OTHER = {**MAP, "metadata": {"name": "b"}}


def test_a_file_has_its_documents_and_the_items_of_its_lists(tmp_path: Path) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [OTHER]}
    file = tmp_path / "a.yaml"
    file.write_text(f"---\n{json.dumps(MAP)}\n---\n# nothing\n---\n{json.dumps(listed)}\n")

    assert manifest_objects(str(file)) == (MAP, OTHER)


def test_a_folder_has_the_objects_of_all_its_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(json.dumps(MAP))
    (tmp_path / "deep" / "b.json").write_text(json.dumps(OTHER))
    (tmp_path / "README.md").write_text("no manifest")

    assert manifest_objects(str(tmp_path)) == (MAP, OTHER)


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_folder_with_a_kustomization_is_built(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(MAP))
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\nnamePrefix: my-\n")

    assert manifest_objects(str(tmp_path)) == ({**MAP, "metadata": {"name": "my-a"}},)
    (tmp_path / "a.yaml").unlink()
    with pytest.raises(NotAvailable, match=r"a\.yaml"):
        manifest_objects(str(tmp_path))


def test_what_a_server_writes_is_left_out() -> None:
    text = json.dumps({**MAP, "metadata": {"name": "a", "creationTimestamp": None}, "status": {}})
    assert objects_of_text(text, "here") == (MAP,)


MISTAKES = {
    "no yaml": ("a: [", "here: is not YAML: "),
    "no object": ("a: 1", "here: is not an object of Kubernetes"),
    "no name": ('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}', "metadata.name"),
    "a list": ("[1]", "is not an object of Kubernetes"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_text_that_has_no_objects_is_refused_with_its_place(mistake: str) -> None:
    text, sentence = MISTAKES[mistake]
    with pytest.raises(InvalidInput) as raised:
        objects_of_text(text, "here")
    assert sentence in str(raised.value)


def test_without_kubectl_and_kustomize_the_way_out_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\n")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAvailable, match="neither `kubectl` nor `kustomize` is on PATH"):
        manifest_objects(str(tmp_path))


def test_a_page_is_https_and_has_a_hash() -> None:
    for source in ("http://example.com/a.yaml#sha256=00", "https://example.com/a.yaml"):
        with pytest.raises(InvalidInput, match="must be https and name its hash"):
            manifest_objects(source)


def test_an_object_of_the_cluster_has_no_namespace() -> None:
    text = "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}"
    (made,) = objects_of_text(text, "here")
    assert made["metadata"] == {"name": "a"}
