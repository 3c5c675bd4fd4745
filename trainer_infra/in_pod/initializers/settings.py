"""What the environment asks of an initializer."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.patterns import Patterns, parse_patterns
from trainer_infra.in_pod.initializers.state_folder import state_folder
from trainer_infra.in_pod.initializers.storage_uri import VARIABLE, StorageUri, parse_uri
from trainer_infra.in_pod.storage import mounted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
            DownloadFailure: It is no number from 1 on.
        """
        text = self.variable("ATTEMPTS") or "6"
        if not text.isdecimal() or int(text) < 1:
            raise DownloadFailure("ATTEMPTS", f"is {text!r}", "set it to a whole number from 1 on")
        return int(text)

    @property
    def endpoint(self) -> str:
        """ENDPOINT, empty if it is unset.

        Raises:
            DownloadFailure: It is no address.
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
