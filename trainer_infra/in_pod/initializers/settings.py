"""What the environment asks of an initializer."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import STATE
from trainer_infra.in_pod.initializers.patterns import Patterns, parse_patterns
from trainer_infra.in_pod.initializers.storage_uri import VARIABLE, StorageUri, parse_uri
from trainer_infra.in_pod.storage import mounted

MOUNTS = Path("/proc/self/mountinfo")
"""Linux's list of what is mounted where: a folder of the same disk can be mounted, too."""
POINT = 4
"""The field of its lines that has the path, with blanks and the like in octal."""
NOT_EMPTY = {errno.ENOTEMPTY, errno.EEXIST}
KINDS = ("dataset", "model", "code")
TARGETS = {
    "dataset": "/workspace/dataset",
    "model": "/workspace/model",
    "code": "/opt/trainer-infra/source",
}
"""Where the files go (reference behaviour 7.1); code is ours."""
PLACES = {"az": ("AZURE_STORAGE_ACCOUNT_NAME",), "hf": ("HF_ENDPOINT",)}
"""Variables by which one URI stands for other files, besides ENDPOINT."""


@dataclass(frozen=True)
class InitializerSettings:
    """One download."""

    kind: str
    """One of `KINDS`."""
    uri: StorageUri
    target: Path
    patterns: Patterns
    environment: Mapping[str, str] = field(repr=False)
    """All variables: sources read those of their scheme, secrets among them."""

    def variable(self, *names: str) -> str:
        """The first of these variables that is set to something; empty if none is."""
        return next((self.environment[each] for each in names if self.environment.get(each)), "")

    @property
    def attempts(self) -> int:
        """How often a request is sent that fails for a reason which may pass: ATTEMPTS, 6 if unset.

        Raises:
            DownloadFailure: It is not a number from 1 on.
        """
        text = self.variable("ATTEMPTS") or "6"
        if not text.isdecimal() or int(text) < 1:
            raise DownloadFailure("ATTEMPTS", f"is {text!r}", "set it to a whole number from 1 on")
        return int(text)

    @property
    def endpoint(self) -> str:
        """ENDPOINT, empty if it is unset.

        Raises:
            DownloadFailure: It is not an address.
        """
        text = self.variable("ENDPOINT")
        if text and not text.startswith(("http://", "https://")):
            raise DownloadFailure("ENDPOINT", f"is {text!r}", "begin it with https:// or http://")
        return text.rstrip("/")

    @property
    def state(self) -> Path:
        """The folder of what we keep besides the files."""
        above = PurePosixPath(TARGETS[self.kind]).parent
        return state_folder(self.target, Path(mounted(str(above))))

    @property
    def identity(self) -> dict[str, object]:
        """What makes two downloads the same: without secrets, and as JSON has it."""
        place = self.variable(*PLACES.get(self.uri.scheme, ()))
        return {
            "uri": self.uri.identity,
            "endpoint": " ".join(each for each in (self.endpoint, place) if each),
            "ignored": list(self.patterns.ignored),
            "allowed": None if self.patterns.allowed is None else list(self.patterns.allowed),
        }


def read_settings(kind: str, environment: Mapping[str, str] = os.environ) -> InitializerSettings:
    """Settings of a kind.

    Raises:
        DownloadFailure: STORAGE_URI is unset or makes no sense.
    """
    uri = parse_uri(environment.get(VARIABLE, ""), kind)
    ignored, allowed = environment.get("IGNORE_PATTERNS"), environment.get("ALLOW_PATTERNS")
    return InitializerSettings(
        kind=kind,
        uri=uri,
        target=Path(mounted(TARGETS[kind])),
        patterns=parse_patterns(ignored, allowed, of_model=kind == "model"),
        environment=environment,
    )


def state_folder(target: Path, above: Path) -> Path:
    """`.trainer-infra-NAME` beside the target, or `.trainer-infra` in it where what is beside it is not kept with it.

    Beside it, for programs take each folder in a target for a class. Each target has its own: initializers of one
    volume may be of several users. `above` is where a volume that is mounted above the target has its files.
    """
    is_alone = (
        target.parent != above
        or target.is_symlink()
        or is_mount_point(target)
        or (target.is_dir() and not os.access(above, os.W_OK, effective_ids=True))
    )
    return target / STATE if is_alone else above / f"{STATE}-{target.name}"


def is_mount_point(folder: Path) -> bool:
    """Whether a volume is mounted at this very folder."""
    if os.path.ismount(folder):
        return True
    with contextlib.suppress(OSError):
        points = {line.split()[POINT] for line in MOUNTS.read_bytes().splitlines()}
        return os.path.realpath(folder).encode(errors="surrogateescape") in points
    return False


def take_over(target: Path, state: Path) -> None:
    """Move to its place what an older release kept in the target: a download goes on where it was.

    A process of that release which still works there loses its lock by it, and ends.

    Raises:
        OSError: The volume cannot be written to.
    """
    older = target / STATE
    if state == older or not older.is_dir():
        return
    try:
        _move(older, state)
    except OSError as error:
        if error.errno not in NOT_EMPTY:
            raise
        # An older release worked here after this one: what it left is the newer one.
        shutil.rmtree(state)
        _move(older, state)


def _move(older: Path, state: Path) -> None:
    # Another process may have moved it.
    with contextlib.suppress(FileNotFoundError):
        older.rename(state)
