"""https:// against a web server with TLS."""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import MIB, noise
from tests.in_pod.initializers.web_server import Answer, WebServer, range_answer
from trainer_infra.in_pod.initializers.folder import PART

CONTENT = noise(2 * MIB)
PARTS = 40 * MIB
"""Bytes that come in three parts."""
USER = base64.b64encode("anna:wörd-of-hers".encode()).decode()
GOOD = ("Bearer token-of-mine", f"Basic {USER}")


class Files:
    """What the server has, and how it behaves."""

    def __init__(self) -> None:
        self.content = CONTENT
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
        answer = range_answer(self.content, headers if self.has_ranges else {})
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


def test_a_file_comes_in_ranges(file: Initializer, files: Files, web: WebServer) -> None:
    files.content = noise(PARTS)
    file.run()
    assert file.files() == {"big file.bin": files.content}
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
    files.content, files.has_ranges, files.cuts = noise(PARTS), False, 2
    file.run(ATTEMPTS="4")
    assert file.files() == {"big file.bin": files.content}


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
    assert "secret" not in (file.state / "done").read_text()


OLD, NEW = b"A" * (PART + MIB), b"B" * (PART + MIB)
VERSIONS = {
    "a server that does not know If-Match": ({"ETag": '"1"'}, {"ETag": '"2"'}),
    "a weak ETag": ({"ETag": 'W/"1"'}, {"ETag": 'W/"2"'}),
    "a time": ({"Last-Modified": "Mon, 01 Jun 2026"}, {"Last-Modified": "Tue, 02 Jun 2026"}),
}


class ChangingFile:
    """A file of another version from the second request on."""

    def __init__(self, before: Answer, after: Answer, *, has_ranges: bool = True) -> None:
        self.versions = before, after
        self.has_ranges = has_ranges
        self.requests = 0

    def answer(self, _: str, headers: Mapping[str, str]) -> Answer:
        version = self.versions[min(self.requests, 1)]
        self.requests += 1
        part = range_answer(version.content, headers if self.has_ranges else {})
        del part.headers["ETag"]
        part.headers.update(version.headers)
        return part


@contextmanager
def served(
    answer: Callable[[str, Mapping[str, str]], Answer], tmp_path: Path
) -> Iterator[Initializer]:
    with WebServer(answer, tmp_path) as server:
        trusted = {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
        yield Initializer(tmp_path / "volume", {"STORAGE_URI": f"{server.url}/a", **trusted})


@pytest.mark.parametrize("name", VERSIONS)
def test_parts_of_two_versions_are_not_put_together(name: str, tmp_path: Path) -> None:
    before, after = VERSIONS[name]
    file = ChangingFile(Answer(200, OLD, before), Answer(200, NEW, after))
    with served(file.answer, tmp_path) as each:
        assert "/a: was changed while it was downloaded; start again\n" in each.run(1).errors
        each.run()
        assert each.files() == {"a": NEW}


@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_file_that_grows_while_it_is_fetched_is_not_cut(has_ranges: bool, tmp_path: Path) -> None:
    file = ChangingFile(Answer(200, OLD), Answer(200, NEW + b"more"), has_ranges=has_ranges)
    with served(file.answer, tmp_path) as each:
        assert "/a: was changed while it was downloaded; start again\n" in each.run(1).errors
        each.run()
        assert each.files() == {"a": NEW + b"more"}


def test_of_a_server_that_names_no_version_a_file_comes_in_one_request(tmp_path: Path) -> None:
    file = ChangingFile(Answer(200, OLD), Answer(200, NEW))
    with served(file.answer, tmp_path) as each:
        each.run()
        assert each.files() == {"a": NEW}
        assert file.requests == 2


def test_what_comes_in_one_answer_is_of_one_version(tmp_path: Path) -> None:
    """A page that is made for each request has another time in each answer."""
    before, after = VERSIONS["a time"]
    file = ChangingFile(Answer(200, b"A", before), Answer(200, b"B", after))
    with served(file.answer, tmp_path) as each:
        each.run()
        assert each.files() == {"a": b"B"}


def test_a_range_of_a_file_of_unknown_length_leads_to_the_whole_file(tmp_path: Path) -> None:
    def answer(_: str, headers: Mapping[str, str]) -> Answer:
        unknown = {"Content-Range": "bytes 0-0/*", "ETag": '"1"'}
        return Answer(206, b"w", unknown) if "Range" in headers else Answer(200, b"whole")

    with served(answer, tmp_path) as file:
        file.run()
        assert file.files() == {"a": b"whole"}


def test_the_end_of_a_line_is_no_part_of_a_token(file: Initializer, web: WebServer) -> None:
    file.run(STORAGE_URI=f"{web.url}/private/x.bin", ACCESS_TOKEN="token-of-mine\n")
    assert file.files() == {"x.bin": CONTENT}
