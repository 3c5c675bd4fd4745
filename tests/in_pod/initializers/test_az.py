"""az:// against a server of the two requests of Azure's protocol that list and read blobs.

There is no server of Azure's that can be built here: this one says what its documentation of List Blobs and Get Blob
does, and requests are signed with a shared key, which is not checked.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.in_pod.initializers.initializer_process import Initializer
from tests.in_pod.initializers.test_s3 import MIB, noise
from tests.in_pod.initializers.web_server import Answer, WebServer, range_answer

BLOBS = {"data/big.bin": noise(20 * MIB), "data/a b.txt": b"a", "other": b"o"}
TIME = "Thu, 26 Nov 2026 12:00:00 GMT"
KEY = "c2VjcmV0LWtleQ=="


def answer(path: str, headers: Mapping[str, str]) -> Answer:
    url, query = urlsplit(path), parse_qs(urlsplit(path).query)
    if not url.path.startswith("/container"):
        code = "<Error><Code>ContainerNotFound</Code><Message>None.</Message></Error>"
        return Answer(404, code.encode())
    if not headers.get("Authorization", "").startswith("SharedKey account:"):
        code = "<Error><Code>AuthenticationFailed</Code><Message>No.</Message></Error>"
        return Answer(403, code.encode())
    if query.get("comp") == ["list"]:
        return listing(query.get("prefix", [""])[0])
    content = BLOBS.get(unquote(url.path).removeprefix("/container/"))
    if content is None:
        return Answer(404)
    found = range_answer(content, headers)
    found.headers |= {"ETag": '"0x8D"', "Last-Modified": TIME, "x-ms-version": "2023-11-03"}
    return found


def listing(prefix: str) -> Answer:
    blobs = "".join(
        f"<Blob><Name>{name}</Name><Properties><Last-Modified>{TIME}</Last-Modified>"
        f"<Etag>0x8D</Etag><Content-Length>{len(content)}</Content-Length>"
        "<Content-Type>application/octet-stream</Content-Type></Properties></Blob>"
        for name, content in sorted(BLOBS.items())
        if name.startswith(prefix)
    )
    text = f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>"
    return Answer(200, text.encode())


@pytest.fixture
def azure() -> Iterator[WebServer]:
    with WebServer(answer) as server:
        yield server


@pytest.fixture
def dataset(azure: WebServer, tmp_path: Path) -> Initializer:
    return Initializer(
        tmp_path,
        {
            "STORAGE_URI": "az://container/data",
            "ENDPOINT": azure.url,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        },
    )


def test_blobs_of_a_folder_arrive(dataset: Initializer, azure: WebServer) -> None:
    dataset.run()
    assert dataset.files() == {"a b.txt": b"a", "big.bin": BLOBS["data/big.bin"]}
    assert [path for path, _ in azure.requests if KEY in path] == []


def test_another_account_is_another_place(dataset: Initializer) -> None:
    dataset.run()
    assert "nothing to do" in dataset.run().output
    # Which this server does not know.
    other = dataset.run(1, AZURE_STORAGE_ACCOUNT_NAME="another")
    assert "AuthenticationFailed" in other.errors


def test_a_container_that_is_missing_and_a_key_that_is_wrong(dataset: Initializer) -> None:
    outcome = dataset.run(1, STORAGE_URI="az://missing")
    said = "there is no container missing; see whether the URI is right"
    assert outcome.errors == f"dataset: az://missing: {said}\n"
    outcome = dataset.run(1, AZURE_STORAGE_ACCOUNT_NAME="other")
    said = (
        "az://container/data: the credentials are refused (AuthenticationFailed); give the pod's "
    )
    assert said in outcome.errors
