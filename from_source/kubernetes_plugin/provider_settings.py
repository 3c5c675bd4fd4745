"""What a provider is configured with: by its arguments, or by `kubernetes:` of a stack's configuration."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_SERVED: Final = ("kubeconfig", "context", "namespace", "upsertExistingObjects", "enablePatchForce")
_WITHOUT_EFFECT: Final = {
    "version": "",
    "pluginDownloadURL": "",
    "suppressDeprecationWarnings": "there are none",
    "suppressHelmHookWarnings": "there are none",
    "helmReleaseSettings": "of Release, which is no object",
    "kubeClientSettings": "rates of requests",
    "enableReplaceCRD": "CustomResourceDefinitions change in place",
}
"""What may be said, and why nothing follows from it here."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What of it is served here."""

    kubeconfig: str | None = None
    """Path or text; None for the usual places."""
    context: str | None = None
    namespace: str = "default"
    upserts: bool = False
    """Whether `create` takes an object that is already there."""
    forces: bool = False
    """Whether `apply` takes fields from other managers."""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "Settings":
        """From a provider's arguments."""
        read = {key: _plain(each) for key, each in arguments.items()}
        return cls(
            kubeconfig=read.get("kubeconfig"),
            context=read.get("context"),
            namespace=read.get("namespace") or "default",
            upserts=bool(read.get("upsertExistingObjects")),
            forces=bool(read.get("enablePatchForce")),
        )


def problems(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Path and reason of each argument with which the real plugin would do another thing."""
    for key, value in arguments.items():
        if key in _SERVED or key in _WITHOUT_EFFECT or key.startswith("__"):
            continue
        if _plain(value) is not (key == "enableServerSideApply"):
            fix = "leave it out, or run `pulumi plugin install resource kubernetes`"
            what = f"{key} is not served by trainer_infra's stand-in for Pulumi's Kubernetes plugin"
            yield key, f"{what}; {fix}"


def _plain(value: Any) -> Any:
    """The engine writes what is no string as JSON."""
    return json.loads(value) if value in ("true", "false") else value
