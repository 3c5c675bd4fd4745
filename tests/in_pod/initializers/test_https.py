"""https:// against a web server with TLS."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import MIB, noise
from tests.in_pod.initializers.web_server import Answer, WebServer, range_answer

CONTENT = noise(40 * MIB)
USER = base64.b64encode("anna:wörd-of-hers".encode()).decode()
GOOD = ("Bearer token-of-mine", f"Basic {USER}")


class Files:
    """What the server has, and how it behaves."""

    def __init__(self) -> None:
        self.has_ranges = True
        self.cuts = 0
        self.url = ""

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        if path.startswith("/elsewhere"):
            return Answer(302, headers={"Location": f"{self.url}/big%20file.bin?from=there"})
        if path.startswith("/private") and headers.get("Authorization") not in GOOD:
            return Answer(401)
        if path.startswith("/empty"):
            return range_answer(b"", headers)
        answer = range_answer(CONTENT, headers if self.has_ranges else {})
        if self.cuts and len(answer.content) > MIB:
            self.cuts -= 1
            answer.is_cut = True
        return answer


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def web(files: Files, tmp_path: Path) -> Iterator[WebServer]:
    with WebServer(files.answer, tmp_path) as server:
        files.url = server.url
        yield server


@pytest.fixture
def file(web: WebServer, tmp_path: Path) -> Initializer:
    return Initializer(
        tmp_path / "volume",
        {
            "STORAGE_URI": f"{web.url}/big%20file.bin",
            "SSL_CERT_FILE": str(tmp_path / "authority.pem"),
        },
    )


def test_a_file_comes_in_ranges(file: Initializer, web: WebServer) -> None:
    file.run()
    assert file.files() == {"big file.bin": CONTENT}
    ranges = {headers["Range"] for _, headers in web.requests}
    assert ranges == {
        "bytes=0-0",
        "bytes=0-16777215",
        "bytes=16777216-33554431",
        "bytes=33554432-41943039",
    }


def test_without_ranges_it_comes_whole_and_again_when_the_connection_breaks(
    file: Initializer, files: Files
) -> None:
    files.has_ranges, files.cuts = False, 2
    file.run(ATTEMPTS="4")
    assert file.files() == {"big file.bin": CONTENT}


def test_a_redirect_and_an_empty_file(file: Initializer, web: WebServer) -> None:
    file.run(STORAGE_URI=f"{web.url}/elsewhere/x.bin")
    assert file.files() == {"x.bin": CONTENT}
    file.run(STORAGE_URI=f"{web.url}/empty.txt")
    assert file.files() == {"empty.txt": b""}


def test_a_fragment_is_a_checksum(file: Initializer, web: WebServer) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    file.run(STORAGE_URI=f"{web.url}/x.bin#sha256={digest}")
    wrong = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    outcome = file.run(1, STORAGE_URI=f"{web.url}/y.bin#sha256={wrong}")
    assert f"y.bin: arrived damaged: its sha256 is {digest} and should be {wrong}" in outcome.errors


def test_a_token_opens_what_is_private(file: Initializer, web: WebServer) -> None:
    file.run(STORAGE_URI=f"{web.url}/private/x.bin", ACCESS_TOKEN="token-of-mine")
    assert file.files() == {"x.bin": CONTENT}


def test_a_user_with_a_password_opens_what_is_private(file: Initializer, web: WebServer) -> None:
    known: dict[str, Any] = {"STORAGE_URI": f"{web.url}/private/x.bin", "HTTP_USERNAME": "anna"}
    refused = file.run(1, **known, HTTP_PASSWORD="another-word")
    assert "it wants other credentials" in refused.errors
    opened = file.run(**known, HTTP_PASSWORD="wörd-of-hers")
    assert file.files() == {"x.bin": CONTENT}
    assert "word" not in refused.errors + refused.output
    assert "wörd" not in opened.output


def test_a_signed_url_is_the_same_file_when_it_is_signed_anew_and_never_shown(
    file: Initializer, web: WebServer
) -> None:
    first = file.run(STORAGE_URI=f"{web.url}/x.bin?X-Amz-Signature=secret-1")
    second = file.run(STORAGE_URI=f"{web.url}/x.bin?X-Amz-Signature=secret-2")
    assert "nothing to do" in second.output
    third = file.run(STORAGE_URI=f"{web.url}/x.bin?version=3")
    assert "nothing to do" not in third.output
    assert "secret" not in first.output + second.output
    assert "secret" not in (file.target / ".trainer-infra" / "done").read_text()
