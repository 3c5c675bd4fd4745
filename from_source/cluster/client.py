"""A client of the API server for tests and for what is installed at the start.

What talks to a user's cluster is another room's work.
"""

import http.client
import json
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self
from urllib.parse import urlencode, urlsplit

JSON = Mapping[str, Any]

_TIMEOUT: Final = 300.0
"""Seconds for one answer."""
_IDLE: Final = 30.0
"""Seconds after which a connection is made anew: the server ends one that is idle for 90."""

_JSON_TYPE: Final = "application/json"
_MERGE_TYPE: Final = "application/merge-patch+json"

STRICT: Final = {"fieldValidation": "Strict"}
"""Refuse fields that the schema does not know, instead of dropping them."""

DRY_RUN: Final = {"dryRun": "All"}
"""Judge and answer as usual, store nothing."""


class Unreachable(Exception):
    """The server does not answer."""


class Address(Protocol):
    """How the server is reached."""

    @property
    def url(self) -> str:
        """`https://<host>:<port>`."""

    @property
    def token(self) -> str:
        """Bearer token of the user."""

    @property
    def certificate(self) -> Path:
        """File of the authority that vouches for the server."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    """HTTP status code."""
    body: dict[str, Any]
    """The object, the list or the Status; empty when the answer is plain text."""

    warnings: tuple[str, ...] = ()
    """What it warned of."""

    @property
    def message(self) -> str:
        """Why the server refused; empty when it did not."""
        if self.status < http.client.BAD_REQUEST:
            return ""
        return str(self.body.get("message") or f"HTTP {self.status}")


class Client:
    """One connection; close it, or use it as a context."""

    def __init__(self, address: Address) -> None:
        place = urlsplit(address.url)
        context = ssl.create_default_context(cafile=str(address.certificate))
        self._connection = http.client.HTTPSConnection(
            str(place.hostname), place.port, timeout=_TIMEOUT, context=context
        )
        self._headers = {"Authorization": f"Bearer {address.token}"}
        self._used = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def get(self, path: str) -> Answer:
        """Read an object or a list."""
        return self._request("GET", path)

    def get_table(self, path: str) -> Answer:
        """Read a list as kubectl shows it: a Table of meta.k8s.io/v1."""
        return self._request("GET", path, accept=f"{_JSON_TYPE};as=Table;v=v1;g=meta.k8s.io")

    def create(self, path: str, item: JSON, **query: str) -> Answer:
        """Create an object; `path` is that of its collection."""
        return self._request("POST", _with_query(path, query), item)

    def replace(self, path: str, item: JSON, **query: str) -> Answer:
        """Replace an object; `path` is its own."""
        return self._request("PUT", _with_query(path, query), item)

    def merge(self, path: str, change: JSON, **query: str) -> Answer:
        """Change the fields of an object that the change has; null removes one (RFC 7386)."""
        return self._request("PATCH", _with_query(path, query), change, content=_MERGE_TYPE)

    def delete(self, path: str) -> Answer:
        """Delete an object."""
        return self._request("DELETE", path)

    def _request(
        self,
        method: str,
        path: str,
        item: JSON | None = None,
        accept: str = _JSON_TYPE,
        content: str = _JSON_TYPE,
    ) -> Answer:
        body = None if item is None else json.dumps(item)
        headers = self._headers | {"Accept": accept, "Content-Type": content}
        if time.monotonic() - self._used > _IDLE:
            self.close()
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            answer = response.read()
            self._used = time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Unreachable(f"{method} {path}: {error}") from error
        is_json = _JSON_TYPE in (response.headers.get("Content-Type") or "")
        warnings = tuple(map(_text_of, response.headers.get_all("Warning") or ()))
        return Answer(response.status, json.loads(answer) if is_json else {}, warnings)


def _text_of(warning: str) -> str:
    """What a header says, without its code and agent, and the quotes around and within it."""
    return re.sub(r"\\(.)", r"\1", warning.partition('"')[2][:-1])


def _with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
