"""`oci://REGISTRY/REPOSITORY:TAG` or `@DIGEST`: an artifact or an image of a registry.

A layer that has a title is a file; one that is a tar is unpacked.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import STATE, FileListing, FileSource, RemoteFile
from trainer_infra.in_pod.initializers.patterns import wanted_files
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources import http_ranges

CREDENTIALS = "set REGISTRY_USERNAME and REGISTRY_PASSWORD, or mount a pull secret and name its folder in DOCKER_CONFIG"
OTHER_NAMES = {"docker.io": ("https://index.docker.io/v1/",)}
"""What `docker login` calls a registry."""


class RegistryCredentials:
    """Who we are to a registry: user and password, and the token that it gives for them; threads share it.

    REGISTRY_USERNAME and REGISTRY_PASSWORD count first, then the `config.json` in the folder of
    DOCKER_CONFIG, which a pull secret is when it is mounted.
    """

    def __init__(
        self, settings: InitializerSettings, client: httpx2.Client, repository: str
    ) -> None:
        self.settings = settings
        self.client = client
        self.repository = repository
        self.mutex = threading.Lock()
        self.sent: dict[str, str] = {}

    def headers(self) -> dict[str, str]:
        """The headers that are known to do."""
        with self.mutex:
            return self.sent

    def renewed(self, challenge: str, refused_headers: Mapping[str, str]) -> dict[str, str]:
        """Headers that answer a challenge, as WWW-Authenticate has it.

        Raises:
            DownloadFailure: There is no user, or the registry gives it no token.
        """
        with self.mutex:
            if self.sent == refused_headers:
                self.sent = self._answer(challenge)
            return self.sent

    def _answer(self, challenge: str) -> dict[str, str]:
        kind, _, text = challenge.partition(" ")
        fields = dict(re.findall(r'(\w+)="([^"]*)"', text))
        user = self._user()
        shown = self.settings.uri.shown
        if kind.lower() == "bearer" and fields.get("realm", "").startswith("https://"):
            return {"Authorization": f"Bearer {self._token(fields, user)}"}
        if not user:
            raise DownloadFailure(shown, "the registry wants to know who asks", CREDENTIALS)
        return {"Authorization": f"Basic {user}"}

    def _token(self, fields: Mapping[str, str], user: str) -> str:
        shown = self.settings.uri.shown
        scope = fields.get("scope") or f"repository:{self.repository}:pull"
        url = httpx2.URL(fields["realm"]).copy_merge_params(
            {"service": fields.get("service", ""), "scope": scope}
        )
        headers = {"Authorization": f"Basic {user}"} if user else {}
        with http_ranges.asked(self.client, shown, str(url), headers) as answer:
            answer.read()
            if answer.status_code in {400, 401, 403}:
                raise DownloadFailure(shown, "the registry refuses the credentials", CREDENTIALS)
            if answer.status_code != httpx2.codes.OK:
                raise http_ranges.refused(answer, shown)
        with http_ranges.readable(shown, "a registry's, which gives a token"):
            found = answer.json()
            return str(found.get("token") or found["access_token"])

    def _user(self) -> str:
        """User and password as HTTP's Basic has them; empty where there are none."""
        name = self.settings.variable("REGISTRY_USERNAME")
        if name:
            return http_ranges.basic_user(name, self.settings.variable("REGISTRY_PASSWORD"))
        folder = self.settings.variable("DOCKER_CONFIG") or str(Path.home() / ".docker")
        registry = self.settings.uri.authority
        names = (registry, f"https://{registry}", *OTHER_NAMES.get(registry, ()))
        users = {**_users(Path(folder, ".dockerconfigjson")), **_users(Path(folder, "config.json"))}
        return next((users[each] for each in names if each in users), "")


TITLE = "org.opencontainers.image.title"
UNPACK = "io.deis.oras.content.unpack"
"""Annotation of a folder that `oras push` packed."""
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
DOCKER_HUB, DOCKER_HUB_HOST = "docker.io", "registry-1.docker.io"
"""What references call Docker's registry, whose own images need no organization, and where it is."""
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What an index calls processors."""


class RegistrySource(FileSource):
    """Layers of one manifest."""

    def __init__(self, settings: InitializerSettings) -> None:
        uri = settings.uri
        name, _, digest = uri.path.partition("@")
        repository, _, tag = name.partition(":")
        self.settings = settings
        self.shown = uri.shown
        is_docker_hub = uri.authority == DOCKER_HUB
        is_docker_own = is_docker_hub and "/" not in repository
        self.repository = f"library/{repository}" if is_docker_own else repository
        self.reference = digest or tag or "latest"
        host = DOCKER_HUB_HOST if is_docker_hub else uri.authority
        self.base = f"https://{host}/v2/{self.repository}"
        self.client = http_ranges.new_client()
        self.credentials = RegistryCredentials(settings, self.client, self.repository)

    @override
    def list_files(self) -> FileListing:
        """Layers of the manifest that the tag stands for now; of an index, of this machine's."""
        with http_ranges.readable(self.shown, "a registry's, which has a manifest"):
            digest, manifest = self._manifest(self.reference)
            if "manifests" in manifest:
                _, manifest = self._manifest(self._platform(manifest["manifests"]))
            layers = manifest.get("layers") or []
            files = [self._file(number, each) for number, each in enumerate(layers)]
        patterns = self.settings.patterns
        if any(each.unpacked is not None for each in files):
            # What archives have is known once they are unpacked.
            kept = [
                each for each in files if each.unpacked is not None or patterns.admits(each.path)
            ]
            return FileListing(tuple(kept), digest)
        wanted, remark = wanted_files(self.shown, patterns, files, lambda each: (each.path,))
        return FileListing(tuple(wanted), digest, remark)

    @override
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of a layer, wherever the registry says that they are."""
        yield from self._body(file.location, {**http_ranges.range_header(start, end)}, (start, end))

    def _manifest(self, reference: str) -> tuple[str, dict[str, Any]]:
        url = f"{self.base}/manifests/{reference}"
        content = b"".join(self._body(url, {"Accept": ", ".join(MANIFESTS)}, (0, None)))
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if reference.startswith("sha256:") and digest != reference:
            cause = f"the registry sent another manifest, of digest {digest}"
            raise DownloadFailure(self.shown, cause)
        found: dict[str, Any] = json.loads(content)
        return digest, found

    def _platform(self, manifests: list[dict[str, Any]]) -> str:
        """The digest of an index's manifest for this machine, or of the only one."""
        machine = MACHINES.get(platform.machine(), platform.machine())
        of_machine = [
            each["digest"]
            for each in manifests
            if (each.get("platform") or {}).get("architecture") == machine
        ]
        only = [each["digest"] for each in manifests] if len(manifests) == 1 else []
        found: list[str] = of_machine or only
        if not found:
            raise DownloadFailure(
                self.shown, f"has nothing for {machine}", "push it for that processor"
            )
        return found[0]

    def _file(self, number: int, layer: Mapping[str, Any]) -> RemoteFile:
        notes, digest = layer.get("annotations") or {}, layer["digest"]
        title = str(notes.get(TITLE) or "")
        unpacked = title if title and notes.get(UNPACK) == "true" else None
        if not title:
            if "tar" not in layer.get("mediaType", ""):
                cause = (
                    f"layer {digest} is not a tar archive, and no title gives the name of its file"
                )
                raise DownloadFailure(self.shown, cause, f"push it with the annotation {TITLE}")
            unpacked = ""
        name = f"{STATE}/archives/{number:03}-{digest[-12:]}"
        return RemoteFile(
            path=title if unpacked is None else name,
            size=layer["size"],
            location=f"{self.base}/blobs/{digest}",
            validator=digest,
            checksum=digest,
            unpacked=unpacked,
        )

    def _body(
        self, url: str, headers: Mapping[str, str], span: tuple[int, int | None]
    ) -> Iterator[bytes]:
        """The body of an answer; one that asks who we are is answered once."""
        sent = self.credentials.headers()
        with http_ranges.asked(self.client, self.shown, url, {**headers, **sent}) as answer:
            if answer.status_code != httpx2.codes.UNAUTHORIZED:
                yield from self._checked(answer, span)
                return
            answer.read()
        sent = self.credentials.renewed(answer.headers.get("WWW-Authenticate", ""), sent)
        with http_ranges.asked(self.client, self.shown, url, {**headers, **sent}) as answer:
            yield from self._checked(answer, span)

    def _checked(self, answer: httpx2.Response, span: tuple[int, int | None]) -> Iterator[bytes]:
        if answer.status_code in {http_ranges.PARTIAL, http_ranges.WHOLE}:
            return http_ranges.read_range(answer, self.shown, *span)
        if answer.status_code in {401, 403}:
            cause = "the registry refuses the credentials"
            raise DownloadFailure(self.shown, cause, CREDENTIALS)
        if answer.status_code == httpx2.codes.NOT_FOUND:
            cause = f"the registry has no {self.repository} with {self.reference}"
            raise DownloadFailure(self.shown, cause, "see whether the URI is right")
        raise http_ranges.refused(answer, self.shown)


def _users(file: Path) -> dict[str, str]:
    """User and password by registry, as Docker's configuration has them; none where there is none."""
    try:
        found = json.loads(file.read_text("utf-8"))["auths"]
        return {name: str(each["auth"]) for name, each in found.items() if "auth" in each}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


open_source = RegistrySource
