"""Byte ranges over HTTP.

Redirects are followed, and a token goes to no other host.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx2

from trainer_infra.in_pod.initializers.failure import DownloadFailure, connection_failure
from trainer_infra.in_pod.initializers.folder import BLOCK

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
"""Seconds without a byte."""
POOL = 64
"""Connections that are kept: more than `download` uses."""
MAY_PASS = {408, 425, 429, 500, 502, 503, 504}
PARTIAL, WHOLE, CHANGED = 206, 200, 412


def basic_user(name: str, password: str) -> str:
    """Who asks, as HTTP's Basic has it (RFC 7617)."""
    return base64.b64encode(f"{name}:{password}".encode()).decode()


def bearer(token: str) -> dict[str, str]:
    """The header with a token; the line's end that a file of a Secret has does not belong to it.

    Raises:
        DownloadFailure: No header can carry it.
    """
    text = token.strip()
    if not (text.isascii() and text.isprintable()):
        cause = "has characters that no token has"
        raise DownloadFailure("ACCESS_TOKEN", cause, "see what its Secret holds")
    return {"Authorization": f"Bearer {text}"} if text else {}


def new_client() -> httpx2.Client:
    """A client with timeouts, for all threads.

    Raises:
        DownloadFailure: The variables that name authorities and proxies make no sense.
    """
    try:
        return httpx2.Client(
            follow_redirects=True,
            timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
            limits=httpx2.Limits(max_connections=POOL, max_keepalive_connections=POOL),
        )
    except OSError as error:
        cause = f"names no file with certificates: {error.strerror or error}"
        remedy = "name one, or leave it unset"
        raise DownloadFailure("SSL_CERT_FILE or SSL_CERT_DIR", cause, remedy) from None
    except (ValueError, httpx2.InvalidURL):
        variables = "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
        remedy = "write http://HOST:PORT"
        raise DownloadFailure(variables, "is not an address of a proxy", remedy) from None


@contextmanager
def asked(
    client: httpx2.Client, place: str, url: str, headers: Mapping[str, str]
) -> Iterator[httpx2.Response]:
    """The answer to a GET, whose body is not read yet.

    Raises:
        DownloadFailure: The server is not reached, or the connection breaks while the body is read.
    """
    # What is compressed on the way has other bytes at other places.
    sent = {"Accept-Encoding": "identity", **headers}
    try:
        with client.stream("GET", url, headers=sent) as answer:
            yield answer
    except httpx2.HTTPError as error:
        raise connection_failure(place, causes_text(error)) from None
    except httpx2.InvalidURL:
        raise DownloadFailure(
            place, "is not an address of a server", "see whether the URI is right"
        ) from None


def read_range(answer: httpx2.Response, place: str, start: int, end: int | None) -> Iterator[bytes]:
    """The body of an answer to a request for these bytes.

    Raises:
        DownloadFailure: It is the answer to something else.
    """
    if answer.status_code == PARTIAL:
        found = answer.headers.get("Content-Range", "")
        if not found.startswith(f"bytes {start}-"):
            raise DownloadFailure(
                place, f"the server sent {found or 'another range'}", may_pass=True
            )
    elif answer.status_code != WHOLE or start:
        raise refused(answer, place)
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise DownloadFailure(place, "the server sent it compressed, which was not asked for")
    left = None if end is None else end - start
    for data in answer.iter_raw(BLOCK):
        yield data if left is None else data[:left]
        if left is not None:
            left -= len(data)
            if left <= 0:
                return


def range_header(start: int, end: int | None) -> dict[str, str]:
    """What asks for these bytes; nothing for all."""
    if end is None:
        return {"Range": f"bytes={start}-"} if start else {}
    return {"Range": f"bytes={start}-{end - 1}"}


def whole_size(answer: httpx2.Response) -> int | None:
    """Bytes of the file of which this is a part or all; None where the server does not say."""
    if answer.status_code == PARTIAL:
        total = answer.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        total = answer.headers.get("Content-Length", "")
    return int(total) if total.isdecimal() else None


def changed(place: str) -> DownloadFailure:
    """Why parts of a file do not go together."""
    return DownloadFailure(place, "was changed while it was downloaded", "start again")


@contextmanager
def readable(place: str, whose: str) -> Iterator[None]:
    """Read an answer with a good status.

    Raises:
        DownloadFailure: It is not what such a server answers.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError):
        remedy = "see whether the address is right, and whether a proxy answers in its place"
        raise DownloadFailure(place, f"the server's answer is not {whose}", remedy) from None


def refused(answer: httpx2.Response, place: str) -> DownloadFailure:
    """Why an answer is not one of those that were hoped for."""
    status = answer.status_code
    if status == WHOLE:
        return DownloadFailure(place, "the server sends only the whole file")
    if status == CHANGED:
        return changed(place)
    cause = f"the server answered {status} {answer.reason_phrase}".strip()
    return DownloadFailure(place, cause, may_pass=status in MAY_PASS)


def causes_text(error: BaseException) -> str:
    """The texts of an error and of what led to it."""
    found: BaseException | None = error
    texts: list[str] = []
    while found is not None and len(texts) < 10:  # noqa: PLR2004  there may be a loop
        texts.append(f"{type(found).__name__} {found}")
        found = found.__cause__ or found.__context__
    return " ".join(texts)
