"""The published files of a release: fetched once, checked against their digest, kept in the cache.

Go's module mirror and the archive of the tag have the same files. `go` knows the mirror that a closed
network is set up for, so it comes first where it is installed.
"""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from trainer_infra.errors import NotAvailable
from trainer_infra.home_folders import cache_home
from trainer_infra.platform.releases import Release

PATIENCE: Final = 60.0
"""Seconds that a silent server is waited for."""

Files = Mapping[str, bytes]
"""Contents by path, relative to the release's folder."""


def release_folder(release: Release) -> Path:
    """The folder of a release's manifests.

    Raises:
        NotAvailable: They are not in the cache and cannot be fetched, or are not those that were pinned.
    """
    name = f"{release.project}-{release.version}-{release.digest[:12]}"
    folder = cache_home() / "manifests" / name
    if not folder.exists():
        _keep(_fetched(release), folder)
    return folder


def files_digest(files: Files) -> str:
    """SHA-256 over the paths and the contents of files, in the order of their paths."""
    digest = hashlib.sha256()
    for path in sorted(files):
        content = hashlib.sha256(files[path]).hexdigest()
        digest.update(f"{path}\0{content}\n".encode())
    return digest.hexdigest()


def module_files(release: Release) -> Files:
    """The files as `go` has or fetches them.

    Raises:
        NotAvailable: There is no `go`, or it gets no such module.
    """
    if shutil.which("go") is None:
        raise NotAvailable("`go` is not on PATH")
    with tempfile.TemporaryDirectory() as outside:
        command = ["go", "mod", "download", "-json", f"{release.module}@{release.version}"]
        done = subprocess.run(command, cwd=outside, check=False, capture_output=True, text=True)
    answer = json.loads(done.stdout or "{}")
    if done.returncode != 0:
        reason = answer.get("Error") or done.stderr.strip().rpartition("\n")[2]
        raise NotAvailable(f"`go mod download` says {reason!r}")
    root = Path(answer["Dir"], release.folder)
    found = (each for each in root.rglob("*") if each.is_file())
    return {each.relative_to(root).as_posix(): each.read_bytes() for each in found}


def archive_files(release: Release, host: str = "https://") -> Files:
    """The files of the tag's archive.

    Raises:
        NotAvailable: The server does not have it, or does not answer.
    """
    url = f"{host}{release.repository}/archive/refs/tags/{release.version}.tar.gz"
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310  https or a test's
            content = answer.read()
    except OSError as error:
        raise NotAvailable(f"{url}: {error}") from None
    files = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            # The first part is the archive's own folder.
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            content_file = archive.extractfile(member) if member.isreg() else None
            inside = path.is_relative_to(release.folder) and ".." not in path.parts
            if content_file and inside:
                files[path.relative_to(release.folder).as_posix()] = content_file.read()
    return files


def _fetched(release: Release) -> Files:
    reasons = []
    for fetch in (module_files, archive_files):
        try:
            files = fetch(release)
        except NotAvailable as error:
            reasons.append(str(error))
            continue
        if (found := files_digest(files)) == release.digest:
            return files
        reasons.append(f"what was fetched has the digest {found}, and {release.digest} is pinned")
    raise NotAvailable(
        f"the manifests of {release.project} {release.version} cannot be fetched: "
        f"{'; '.join(reasons)}; where neither can be reached, give them as a file: manifests="
    )


def _keep(files: Files, folder: Path) -> None:
    """Put them into place in one step: a second program may do the same."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".partial-"))
    for path, content in files.items():
        file = partial / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    with suppress(OSError):
        partial.rename(folder)
    shutil.rmtree(partial, ignore_errors=True)
