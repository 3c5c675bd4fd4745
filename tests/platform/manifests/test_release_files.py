"""Published files come from Go's mirror or the tag's archive, and are those that were pinned."""

import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.platform.manifests import release_files
from trainer_infra.platform.manifests.release_files import (
    archive_files,
    files_digest,
    module_files,
    release_folder,
)
from trainer_infra.platform.releases import RELEASES, Release, release_of

JOBSET = release_of("JobSet", None)


class _Quiet(SimpleHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that is served, and what stands before a path in it."""
    folder = tmp_path / "site"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def publish(folder: Path, release: Release, files: dict[str, bytes]) -> None:
    """Put the tag's archive where a source host has it, with what else a repository holds."""
    path = folder / f"{release.repository}/archive/refs/tags/{release.version}.tar.gz"
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {"README.md": b"hello", **files}.items():
            member = tarfile.TarInfo(f"{release.project}-1/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo(f"{release.project}-1/{release.folder}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


@pytest.mark.parametrize("release", RELEASES, ids=lambda each: f"{each.project}-{each.version}")
def test_the_published_files_are_those_that_are_pinned(release: Release) -> None:
    assert files_digest(module_files(release)) == release.digest


def test_the_archive_of_the_tag_has_the_same_files(site: tuple[Path, str]) -> None:
    folder, host = site
    files = module_files(JOBSET)
    publish(folder, JOBSET, {f"{JOBSET.folder}/{name}": each for name, each in files.items()})

    assert archive_files(JOBSET, host) == files


def test_a_path_out_of_the_folder_is_no_file_of_the_release(site: tuple[Path, str]) -> None:
    folder, host = site
    publish(folder, JOBSET, {"config/a.yaml": b"a", "config/../../b.yaml": b"b"})

    assert archive_files(JOBSET, host) == {"a.yaml": b"a"}


def test_an_archive_that_is_not_there_is_said(site: tuple[Path, str]) -> None:
    with pytest.raises(NotAvailable, match=r"v0\.12\.0\.tar\.gz: HTTP Error 404"):
        archive_files(JOBSET, site[1])


def test_other_files_are_refused_and_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path))

    def unreachable(_release: Release) -> release_files.Files:
        raise NotAvailable("no route to host")

    monkeypatch.setattr(release_files, "archive_files", unreachable)
    with pytest.raises(NotAvailable) as raised:
        release_folder(replace(JOBSET, digest="0" * 64))

    assert f"has the digest {JOBSET.digest}" in str(raised.value)
    assert "no route to host" in str(raised.value)
    assert "manifests=" in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_release_is_fetched_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path))
    folder = release_folder(JOBSET)
    monkeypatch.setenv("PATH", "")

    assert release_folder(JOBSET) == folder
    assert (folder / "default" / "kustomization.yaml").is_file()


def test_without_go_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAvailable, match="`go` is not on PATH"):
        module_files(JOBSET)


def test_a_version_that_does_not_exist_is_said_as_go_says_it() -> None:
    with pytest.raises(NotAvailable, match="`go mod download` says"):
        module_files(replace(JOBSET, version="v99.0.0"))


def test_versions_are_taken_with_and_without_their_v() -> None:
    assert release_of("JobSet", "0.11.1") == release_of("JobSet", "v0.11.1")
    with pytest.raises(InvalidInput, match=r"use v0\.12\.0, v0\.11\.1, or give that"):
        release_of("JobSet", "0.10.0")
