"""A registry that gives out tokens, as most public ones do.

The registry of test_oci takes only passwords, so this one is a server of the tests.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.web_server import Answer, WebServer, range_answer
from trainer_infra.in_pod.initializers.settings import read_settings
from trainer_infra.in_pod.initializers.sources.oci import open_source

CONTENT = b"words of a model" * 2_000_000
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MANIFEST = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "layers": [
        {
            "mediaType": "application/octet-stream",
            "digest": DIGEST,
            "size": len(CONTENT),
            "annotations": {"org.opencontainers.image.title": "words"},
        }
    ],
}


class TokenRegistry:
    """Takes each token for so many requests."""

    def __init__(self) -> None:
        self.url = ""
        self.uses = 100
        self.asked: list[tuple[Mapping[str, list[str]], str]] = []
        self.left: dict[str, int] = {}

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        given = headers.get("Authorization", "")
        if path.startswith("/token?"):
            self.asked.append((parse_qs(urlsplit(path).query), given))
            token = f"secret-token-{len(self.asked)}"
            self.left[f"Bearer {token}"] = self.uses
            return Answer(200, json.dumps({"token": token}).encode())
        self.left[given] = self.left.get(given, 0) - 1
        if self.left[given] < 0:
            challenge = (
                f'Bearer realm="{self.url}/token",service="here",scope="repository:org/words:pull"'
            )
            return Answer(401, headers={"WWW-Authenticate": challenge})
        if "/manifests/" in path:
            return Answer(200, json.dumps(MANIFEST).encode())
        return range_answer(CONTENT, headers)


@pytest.fixture
def token_registry() -> TokenRegistry:
    return TokenRegistry()


@pytest.fixture
def model(token_registry: TokenRegistry, tmp_path: Path) -> Iterator[Initializer]:
    with WebServer(token_registry.answer, tmp_path) as server:
        token_registry.url = server.url
        host = server.url.removeprefix("https://")
        environment = {
            "STORAGE_URI": f"oci://{host}/org/words",
            "SSL_CERT_FILE": str(tmp_path / "authority.pem"),
        }
        yield Initializer(tmp_path / "volume", environment, "model")


def test_a_token_for_nobody_opens_what_is_public(
    model: Initializer, token_registry: TokenRegistry
) -> None:
    model.run()
    assert model.files() == {"words": CONTENT}
    asked = {"service": ["here"], "scope": ["repository:org/words:pull"]}
    assert token_registry.asked == [(asked, "")]


def test_a_token_that_has_expired_is_renewed_for_the_user(
    model: Initializer, token_registry: TokenRegistry
) -> None:
    token_registry.uses = 2
    outcome = model.run(REGISTRY_USERNAME="user", REGISTRY_PASSWORD="word")
    assert model.files() == {"words": CONTENT}
    assert len(token_registry.asked) == 2
    assert {given for _, given in token_registry.asked} == {"Basic dXNlcjp3b3Jk"}
    assert "secret-token" not in outcome.output + outcome.errors


def test_a_user_who_gets_no_access_is_told_so(
    model: Initializer, token_registry: TokenRegistry
) -> None:
    token_registry.uses = 0
    outcome = model.run(1)
    assert ": the registry refuses the credentials; set REGISTRY_USERNAME and " in outcome.errors


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docker.io/org/words:1", "https://registry-1.docker.io/v2/org/words"),
        ("docker.io/words", "https://registry-1.docker.io/v2/library/words"),
        ("ghcr.io/org/a/b@sha256:" + "0" * 64, "https://ghcr.io/v2/org/a/b"),
    ],
)
def test_a_reference_leads_to_its_registry(path: str, expected: str) -> None:
    settings = read_settings("model", {"STORAGE_URI": f"oci://{path}"})
    assert open_source(settings).base == expected
