"""Code that a ConfigMap cannot hold: one tar in an object store or a shared folder, under its own hash.

A preview makes the tar in the cache folder of this machine and sends nothing;
`deploy.operations.code_upload` puts it into the store when the job is created, and pods fetch it
before they train (`render.plugins.stored_code`).
"""

import hashlib
import io
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from trainer_infra import home_folders
from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.trainers import volume_address
from trainer_infra.trainers.code import StoredCode, meaning_of

FORMS: Final = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///PATH"
BYTES: Final = ("utf-8", "surrogateescape")
"""How a file's bytes are a text: those that are no UTF-8 are halves of surrogate pairs in it."""
_ADDRESS: Final = re.compile(r"((s3|gs|az)://[^/\s?#@]+|file:///[^/\s?#]+)(/[^\s?#]*)?")
_SECRET: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class CodeStore:
    """Where code is kept that no ConfigMap holds."""

    address: Any
    """One of FORMS; like the others whatever was given, until `problems` has judged it."""
    secret: Any = ""
    """Name of the Secret with the variables by which pods reach it; empty where their account may."""
    image: Any = ""
    """What fetches the code in pods; empty for ours."""

    def problems(self) -> Iterator[Problem]:
        """What is wrong with it, as `code_at`, `code_secret` and `code_image` of a trainer."""
        if not isinstance(self.address, str) or not _ADDRESS.fullmatch(self.address):
            has_user = isinstance(self.address, str) and volume_address.has_credentials(
                self.address
            )
            got = None if has_user else self.address
            yield Problem("code_at", "is not an address of a store", got=got, fix=f"write {FORMS}")
        elif ".." in self.address.split("/"):
            yield Problem("code_at", "may not have .. in it", got=self.address)
        if self.secret and not (isinstance(self.secret, str) and _SECRET.fullmatch(self.secret)):
            yield Problem("code_secret", "is not a name of a Secret", got=self.secret)
        if not isinstance(self.image, str):
            yield Problem("code_image", "must be an image's name", got=self.image)

    def kept(self, files: Mapping[str, str]) -> StoredCode:
        """Where the files will be, decoded as BYTES says, once this machine has them as a tar.

        Raises:
            NotAvailable: The cache folder cannot be written to.
        """
        content = _tar(files)
        name = f"{hashlib.sha256(content).hexdigest()}.tar"
        file = kept_folder() / name
        try:
            if not file.is_file() or file.stat().st_size != len(content):
                write_whole(file, io.BytesIO(content))
            # `trainer-infra gc --cache` goes by its last use; a cache that is shared may be read-only.
            with suppress(OSError):
                os.utime(file)
        except OSError as error:
            fix = "free space there, or set TRAINER_INFRA_CACHE to another folder"
            raise NotAvailable(f"{kept_folder()} cannot be written: {error}; {fix}") from None
        address = f"{self.address.rstrip('/')}/{name}"
        return StoredCode(address, _meaning(files), self.secret, self.image)


def kept_folder() -> Path:
    """The tars of this machine, which can be made again."""
    return home_folders.cache_home() / "code"


def is_text(text: str) -> bool:
    """Whether a file's bytes are UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _tar(files: Mapping[str, str]) -> bytes:
    """The same bytes for the same files on every machine."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, text in sorted(files.items()):
            content = text.encode(*BYTES)
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def write_whole(file: Path, content: IO[bytes]) -> None:
    """Write a file, and its folder, under its name once it is whole; others may do so at once, and all may read it.

    Raises:
        OSError: The folder cannot be written to.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(prefix=".partial-", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as target:
            shutil.copyfileobj(content, target)
        Path(partial).chmod(0o644)
        Path(partial).replace(file)
    finally:
        Path(partial).unlink(missing_ok=True)


def _meaning(files: Mapping[str, str]) -> str:
    said = hashlib.sha256()
    for path, text in sorted(files.items()):
        meant = meaning_of(path, text) if path.endswith(".py") and is_text(text) else text
        content = hashlib.sha256(meant.encode(*BYTES)).hexdigest()
        said.update(f"{path}\0{content}\n".encode())
    return said.hexdigest()
