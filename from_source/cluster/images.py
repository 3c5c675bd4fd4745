"""Container images without a registry: an archive made from files, loaded under a chosen name.

The archive is a tar as `docker save` writes it; the node's containerd keeps what is loaded, and no
garbage collection removes it.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from from_source.cluster import live
from trainer_infra.errors import NotAvailable

MANAGER: Final = {"User": "65532:65532", "Entrypoint": ["/manager"]}
"""The configuration of a controller's image, as their Dockerfiles say; a pod that must not be root
needs the number."""

_LABEL: Final = "trainer-infra.local/archive"
"""Label of a loaded image: its name and the hash of its configuration, which covers its files."""

_PINNED: Final = "io.cri-containerd.pinned=pinned"
"""What tells the kubelet never to remove an image."""


def archive(file: Path, name: str, *layers: Path, config: Mapping[str, Any]) -> None:
    """Write an image; the same input gives the same bytes.

    Args:
        file: where the archive is written, whole or not at all.
        name: image name with its tag.
        layers: uncompressed tars, taken as they are, or folders, whose files then belong to root; a
            later one is put over those before.
        config: the image's `config`: `Entrypoint`, `Cmd`, `Env` (`KEY=value`), `WorkingDir`.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    packed = [file.with_suffix(f".layer-{number}") for number in range(len(layers))]
    try:
        for layer, each in zip(layers, packed, strict=True):
            if layer.is_dir():
                _pack(each, layer)
            else:
                each.unlink(missing_ok=True)
                each.symlink_to(layer.absolute())
        _write(file, name, packed, config)
    finally:
        for each in packed:
            each.unlink(missing_ok=True)


def loaded(name: str, archive: Path) -> str:
    """Load an archive into the cluster of this tool, unless the same one is loaded; its name.

    Raises:
        NotAvailable: No cluster of ours runs, or its containerd refuses the archive.
    """
    if not (live.folder() / "run" / "containerd" / "containerd.sock").exists():
        raise NotAvailable(
            f"image {name} can be loaded only into the cluster that `make cluster` makes, and that "
            "is not running; with a cluster of your own, push the image to a registry it can reach"
        )
    label = f"{_LABEL}={name}@{_digest(archive)}"
    key, value = label.split("=", 1)
    if _ctr("images", "ls", "--quiet", f'labels."{key}"=="{value}"').strip():
        return name
    for each in _names_in(_ctr("images", "import", str(archive))):
        _ctr("images", "label", each, label, _PINNED)
    return name


def also_named(name: str, other: str) -> None:
    """Give a loaded image another name, in full: a published one, where no registry can be reached.

    Raises:
        NotAvailable: No such image is loaded.
    """
    _ctr("images", "tag", "--force", name, other)
    _ctr("images", "label", other, _PINNED)


def of_program(name: str, program: Path, called: str, config: Mapping[str, Any]) -> Path:
    """The archive of an image that holds one static program, made once beside the program.

    Args:
        name: image name with its tag.
        program: the file.
        called: its path in the image, without the leading slash.
        config: as for `archive`.
    """
    file = program.with_name(f"{program.name}-image.tar")
    if not file.exists():
        with tempfile.TemporaryDirectory(dir=program.parent) as folder:
            place = Path(folder) / "root" / called
            place.parent.mkdir(parents=True)
            shutil.copy(program, place)
            archive(file, name, Path(folder) / "root", config=config)
    return file


def _names_in(output: str) -> list[str]:
    """The full names in what an import prints: `unpacking NAME (DIGEST)...done`."""
    lines = (line.split() for line in output.splitlines())
    return [words[1] for words in lines if len(words) > 1 and words[0] == "unpacking"]


def _ctr(*arguments: str) -> str:
    socket = live.folder() / "run" / "containerd" / "containerd.sock"
    command = ["ctr", "--address", str(socket), "--namespace", "k8s.io", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotAvailable(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout


def _pack(file: Path, folder: Path) -> None:
    """A folder as a tar that does not depend on who made it, or when."""
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as packed:
        for path in sorted(folder.rglob("*")):
            packed.add(path, str(path.relative_to(folder)), recursive=False, filter=_of_root)


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def _write(file: Path, name: str, layers: Sequence[Path], config: Mapping[str, Any]) -> None:
    digests = [_sha256(each) for each in layers]
    described = {
        "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64",
        "os": "linux",
        "config": dict(config),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{each}" for each in digests]},
    }
    settings = json.dumps(described, sort_keys=True).encode()
    config_name = f"{hashlib.sha256(settings).hexdigest()}.json"
    parts = [
        {"Config": config_name, "RepoTags": [name], "Layers": [f"{each}.tar" for each in digests]}
    ]
    partial = file.with_suffix(".partial")
    with tarfile.open(partial, "w", format=tarfile.GNU_FORMAT) as whole:
        _add(whole, "manifest.json", io.BytesIO(json.dumps(parts).encode()))
        _add(whole, config_name, io.BytesIO(settings))
        for digest, layer in zip(digests, layers, strict=True):
            with layer.open("rb") as content:
                _add(whole, f"{digest}.tar", content)
    partial.rename(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _add(whole: tarfile.TarFile, name: str, content: IO[bytes]) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = content.seek(0, io.SEEK_END)
    content.seek(0)
    whole.addfile(entry, content)


def _digest(archive: Path) -> str:
    """Hash of the image's configuration; the archive begins with what names it."""
    with tarfile.open(archive) as whole:
        content = whole.extractfile("manifest.json")
        if content is None:
            raise NotAvailable(f"{archive} is no image archive: its manifest.json is not a file")
        name: str = json.load(content)[0]["Config"]
    return name.removesuffix(".json")
