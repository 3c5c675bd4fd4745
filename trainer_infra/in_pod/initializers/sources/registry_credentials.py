"""Who we are to a registry: user and password, and the token that it gives for them.

REGISTRY_USERNAME and REGISTRY_PASSWORD count first, then the `config.json` in the folder of
DOCKER_CONFIG, which a pull secret is when it is mounted.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path

import httpx2

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.http_ranges import (
    asked,
    basic_user,
    readable,
    refused,
)

CREDENTIALS = "set REGISTRY_USERNAME and REGISTRY_PASSWORD, or mount a pull secret and name its folder in DOCKER_CONFIG"
OTHER_NAMES = {"docker.io": ("https://index.docker.io/v1/",)}
"""What `docker login` calls a registry."""


class RegistryCredentials:
    """What is sent with each request; threads share it.

    Args:
        settings: of the download, whose variables name the user.
        client: to ask for a token with.
        repository: that is to be read.
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
        with asked(self.client, shown, str(url), headers) as answer:
            answer.read()
            if answer.status_code in {400, 401, 403}:
                raise DownloadFailure(shown, "the registry refuses the credentials", CREDENTIALS)
            if answer.status_code != httpx2.codes.OK:
                raise refused(answer, shown)
        with readable(shown, "a registry's, which gives a token"):
            found = answer.json()
            return str(found.get("token") or found["access_token"])

    def _user(self) -> str:
        """User and password as HTTP's Basic has them; empty where there are none."""
        name = self.settings.variable("REGISTRY_USERNAME")
        if name:
            return basic_user(name, self.settings.variable("REGISTRY_PASSWORD"))
        folder = self.settings.variable("DOCKER_CONFIG") or str(Path.home() / ".docker")
        registry = self.settings.uri.authority
        names = (registry, f"https://{registry}", *OTHER_NAMES.get(registry, ()))
        users = {**_users(Path(folder, ".dockerconfigjson")), **_users(Path(folder, "config.json"))}
        return next((users[each] for each in names if each in users), "")


def _users(file: Path) -> dict[str, str]:
    """User and password by registry, as Docker's configuration has them; none where there is none."""
    try:
        found = json.loads(file.read_text("utf-8"))["auths"]
        return {name: str(each["auth"]) for name, each in found.items() if "auth" in each}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
