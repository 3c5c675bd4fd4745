"""oci:// against a real registry, with TLS and a password."""

import base64
import bz2
import functools
import gzip
import hashlib
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx2
import pytest

from from_source.cluster.distribution import PASSWORD, USER, Registry
from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import MIB, noise

OCTETS = "application/octet-stream"
TAR = "application/vnd.oci.image.layer.v1.tar"
TITLE = "org.opencontainers.image.title"


@pytest.fixture
def model(registry: Registry, tmp_path: Path) -> Initializer:
    return Initializer(
        tmp_path,
        {
            "STORAGE_URI": f"oci://{registry.host}/{name_of(tmp_path)}:1",
            "SSL_CERT_FILE": str(registry.authority),
            "REGISTRY_USERNAME": USER,
            "REGISTRY_PASSWORD": PASSWORD,
        },
        "model",
    )


def name_of(folder: Path) -> str:
    """A repository of one test."""
    return f"tests/{folder.name.replace('_', '-').lower().rstrip('-')}"


Layer = tuple[bytes, str, Mapping[str, str]]


def push(registry: Registry, name: str, layers: Sequence[Layer], tag: str = "1") -> str:
    """Push an artifact as any client does; its digest."""
    with registry.client() as client:

        def put_blob(content: bytes) -> str:
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
            place = httpx2.URL(client.post(f"{name}/blobs/uploads/").headers["Location"])
            done = client.put(place.copy_merge_params({"digest": digest}), content=content)
            assert done.status_code == 201, done.text
            return digest

        def described(content: bytes, kind: str, notes: Mapping[str, str]) -> dict[str, object]:
            digest = put_blob(content)
            return {"mediaType": kind, "digest": digest, "size": len(content), "annotations": notes}

        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described(b"{}", "application/vnd.oci.empty.v1+json", {}),
            "layers": [described(*each) for each in layers],
        }
        return put_manifest(registry, name, manifest, tag)


def put_manifest(registry: Registry, name: str, manifest: Mapping[str, object], tag: str) -> str:
    content = json.dumps(manifest).encode()
    with registry.client() as client:
        kind = {"Content-Type": str(manifest["mediaType"])}
        done = client.put(f"{name}/manifests/{tag}", content=content, headers=kind)
    assert done.status_code == 201, done.text
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def tar(*members: tuple[str, bytes | str]) -> bytes:
    """A tar of files, and of links where the content is a text."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def test_layers_with_a_title_are_files(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    weights = noise(20 * MIB)
    digest = push(
        registry,
        name_of(tmp_path),
        [
            (b"{}", "application/json", {TITLE: "config.json"}),
            (weights, OCTETS, {TITLE: "deep/w.safetensors"}),
            (b"old", OCTETS, {TITLE: "deep/w.bin"}),
        ],
    )
    outcome = model.run()
    assert model.files() == {"config.json": b"{}", "deep/w.safetensors": weights}
    assert f" at {digest}: 2 files, 20.0 MiB" in outcome.output
    again = Initializer(tmp_path / "other", model.environment, "model")
    again.run(STORAGE_URI=f"oci://{registry.host}/{name_of(tmp_path)}@{digest}")
    assert again.files() == model.files()


def test_layers_of_an_image_are_unpacked_in_their_order(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    push(
        registry,
        name_of(tmp_path),
        [
            (
                tar(("m/a.gguf", b"old"), ("m/gone", b"x"), ("full/x", b"x"), ("w.bin", b"w")),
                TAR,
                {},
            ),
            (
                gzip.compress(
                    tar(("./m/a.gguf", b"new"), ("m/link", "a.gguf"), ("m/.wh.gone", b""))
                ),
                f"{TAR}+gzip",
                {},
            ),
            (
                tar(("full/.wh..wh..opq", b""), ("full/y", b"y"), ("bin/sh", "/bin/busybox")),
                TAR,
                {},
            ),
        ],
    )
    outcome = model.run()
    assert model.files() == {"m/a.gguf": b"new", "m/link": b"new", "full/y": b"y"}
    assert "left out 1 file: links out of the folder, and devices" in outcome.output
    assert not (model.state / "archives").exists()
    assert "nothing to do" in model.run().output
    push(registry, name_of(tmp_path), [(b"1", OCTETS, {TITLE: "one"})], "2")
    model.run(STORAGE_URI=f"oci://{registry.host}/{name_of(tmp_path)}:2")
    assert {str(each.relative_to(model.target)) for each in model.target.glob("[!.]*")} == {"one"}


def test_a_folder_that_oras_packed_is_unpacked_below_its_title(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    notes = {TITLE: "data", "io.deis.oras.content.unpack": "true"}
    content = gzip.compress(tar(("x", b"x"), ("y/z", b"z")))
    push(registry, name_of(tmp_path), [(content, f"{TAR}+gzip", notes)])
    model.run()
    assert model.files() == {"data/x": b"x", "data/y/z": b"z"}


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", ".trainer-infra/done"])
def test_a_name_that_leads_out_ends_the_download(
    model: Initializer, registry: Registry, tmp_path: Path, name: str
) -> None:
    push(registry, name_of(tmp_path), [(tar((name, b"evil")), TAR, {})])
    assert "is a name in an archive that leads out of its folder" in model.run(1).errors
    push(registry, name_of(tmp_path), [(b"evil", OCTETS, {TITLE: name})], "2")
    uri = f"oci://{registry.host}/{name_of(tmp_path)}:2"
    assert f"{name!r} is " in model.run(1, STORAGE_URI=uri).errors
    assert list(tmp_path.rglob("evil")) == []


def test_a_link_out_is_no_way_out_for_what_follows(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    members = tar(
        ("way", str(outside)), ("way/evil", b"evil"), ("up", "../outside"), ("up/evil", b"evil")
    )
    push(registry, name_of(tmp_path), [(members, TAR, {})])
    model.run()
    assert list(outside.iterdir()) == []


def test_of_an_index_the_manifest_of_this_machine_counts(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    name, entries = name_of(tmp_path), []
    for machine in ("amd64", "arm64", "s390x"):
        digest = push(registry, name, [(machine.encode(), OCTETS, {TITLE: "machine"})], machine)
        with registry.client() as client:
            size = len(client.get(f"{name}/manifests/{digest}", headers={"Accept": "*/*"}).content)
        kind = "application/vnd.oci.image.manifest.v1+json"
        platform = {"os": "linux", "architecture": machine}
        entries.append({"mediaType": kind, "digest": digest, "size": size, "platform": platform})
    kind = "application/vnd.oci.image.index.v1+json"
    put_manifest(registry, name, {"schemaVersion": 2, "mediaType": kind, "manifests": entries}, "1")
    model.run()
    assert model.files()["machine"] in {b"amd64", b"arm64"}


def test_a_mounted_pull_secret_is_enough(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    push(registry, name_of(tmp_path), [(b"1", OCTETS, {TITLE: "one"})])
    secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / ".dockerconfigjson").write_text(
        json.dumps({"auths": {registry.host: {"auth": secret}}})
    )
    model.run(REGISTRY_USERNAME="", DOCKER_CONFIG=str(folder))
    assert model.files() == {"one": b"1"}


def test_a_folder_of_the_user_is_not_replaced_by_what_is_unpacked(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    push(registry, name_of(tmp_path), [(tar(("words", b"w")), TAR, {})])
    mine = model.target / "words" / "mine"
    mine.mkdir(parents=True)
    said = "is a folder, and the download has a file of that name; move it away"
    assert model.run(1).errors == f"model: {mine.parent}: {said}\n"
    assert mine.is_dir()


REPLACEMENTS = {
    "a file by a folder": ([tar(("a", b"1")), tar(("a/b", b"2"))], {"a/b": b"2"}),
    "a folder by a file": ([tar(("a/b/c", b"1")), tar(("a", b"2"))], {"a": b"2"}),
    "a folder that is removed": (
        [tar(("a/b", b"1")), tar((".wh.a", b""), ("a", b"2"))],
        {"a": b"2"},
    ),
    "a folder by a link": (
        [tar(("d/y", b"1"), ("a/b", b"1")), tar((".wh.a", b""), ("a", "d/y"))],
        {"a": b"1", "d/y": b"1"},
    ),
    "twice in one layer": ([tar(("a", b"1"), ("a", b"2"))], {"a": b"2"}),
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_layer_replaces_what_is_of_one_below(
    model: Initializer, registry: Registry, tmp_path: Path, name: str
) -> None:
    layers, expected = REPLACEMENTS[name]
    push(registry, name_of(tmp_path), [(each, TAR, {}) for each in layers])
    model.run()
    assert model.files() == expected
    assert "nothing to do" in model.run().output


def test_a_file_of_the_user_is_not_replaced_by_what_is_unpacked(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    push(registry, name_of(tmp_path), [(tar(("words", b"w")), TAR, {})])
    mine = model.target / "words"
    model.target.mkdir()
    mine.write_bytes(b"mine")
    said = (
        "is a file that no initializer wrote, and the download has one of that name; move it away"
    )
    assert model.run(1).errors == f"model: {mine}: {said}\n"
    assert mine.read_bytes() == b"mine"


def test_patterns_that_leave_nothing_of_an_image_end_the_download(
    model: Initializer, registry: Registry, tmp_path: Path
) -> None:
    push(registry, name_of(tmp_path), [(tar(("a", b"1"), ("b", b"2")), TAR, {})])
    nothing = model.run(1, ALLOW_PATTERNS="x*", IGNORE_PATTERNS="")
    assert "ALLOW_PATTERNS=x* leaves none of 2 files" in nothing.errors
    push(registry, name_of(tmp_path), [(tar(), TAR, {})])
    assert ": there is no file; see whether" in model.run(1).errors


@functools.cache
def words() -> bytes:
    return tar(("a", noise(MIB)), ("b", b"2"))


def second() -> int:
    """Where the header of the second member is."""
    return words().rindex(b"ustar") - 257


def damaged(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


# Made when asked for: to compress it takes half a second, in each process that collects this file.
DAMAGED: dict[str, Callable[[], bytes]] = {
    "no tar": lambda: b"words",
    "no tar in gzip": lambda: gzip.compress(b"words"),
    "empty": lambda: b"",
    "cut in a header": lambda: words()[: second() + 100],
    "cut in a file": lambda: words()[: MIB // 2],
    "a header": lambda: damaged(words(), second() + 3),
    "cut gzip": lambda: gzip.compress(words())[: MIB // 2],
    "a byte in gzip": lambda: damaged(gzip.compress(words()), MIB // 2),
    "the sum of gzip": lambda: damaged(gzip.compress(words()), -6),
    "the sum of xz": lambda: damaged(lzma.compress(words()), MIB // 2),
    "a byte in bz2": lambda: damaged(bz2.compress(words()), MIB // 2),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_layer_that_was_damaged_before_it_was_pushed_ends_the_download(
    model: Initializer, registry: Registry, tmp_path: Path, name: str
) -> None:
    push(registry, name_of(tmp_path), [(DAMAGED[name](), TAR, {})])
    uri = model.environment["STORAGE_URI"]
    (line,) = model.run(1).errors.splitlines()
    assert line.startswith(f"model: {uri}: has a layer, 000-")
    assert line.endswith(", that is not a tar archive, or is damaged; push it again")
    assert not (model.state / "done").exists()
