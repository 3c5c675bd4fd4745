"""`https://HOST/FILE`: one file of a web server, also one with a signed URL.

Called by `schemes`, by name. A fragment `#sha256=<hex>` is a checksum, as pip has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from urllib.parse import unquote

import httpx2
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import (
    FileListing,
    FileSource,
    RemoteFile,
    is_checksum,
)
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.http_ranges import (
    PARTIAL,
    WHOLE,
    asked,
    basic_user,
    new_client,
    range_header,
    read_range,
    refused,
)


def open_source(settings: InitializerSettings) -> WebSource:
    """The source of a URI.

    Raises:
        DownloadFailure: As `WebSource` says.
    """
    return WebSource(settings)


class WebSource(FileSource):
    """A file.

    Raises:
        DownloadFailure: The URI names no file, or has a fragment that is no checksum.
    """

    def __init__(self, settings: InitializerSettings) -> None:
        uri = settings.uri
        self.shown = uri.shown
        self.url = f"https://{uri.authority}/{uri.path}{f'?{uri.query}' if uri.query else ''}"
        self.name = unquote(uri.path.rpartition("/")[2])
        if not self.name:
            cause = "names a folder, and a web server has no list of its files"
            raise DownloadFailure(self.shown, cause, "name one file")
        self.checksum = uri.fragment.replace("=", ":", 1)
        if uri.fragment and not is_checksum(self.checksum):
            cause = f"has the fragment #{uri.fragment}, which is no checksum"
            raise DownloadFailure(self.shown, cause, "write #sha256= and 64 hexadecimal digits")
        self.headers = _authorization(settings)
        self.client = new_client()

    @override
    def list_files(self) -> FileListing:
        """The one file. A GET of its first byte says more than a HEAD, which signed URLs refuse."""
        with self._asked({"Range": "bytes=0-0"}) as answer:
            headers, status = answer.headers, answer.status_code
            total = re.fullmatch(r"bytes 0-0/(\d+)", headers.get("Content-Range", ""))
            if status == PARTIAL and total:
                size: int | None = int(total[1])
            elif status == 416:  # noqa: PLR2004  HTTP's answer for a file without a byte
                size = 0
            elif status == WHOLE:
                length = headers.get("Content-Length", "")
                size = int(length) if length.isdigit() else None
            else:
                raise self._refused(answer)
        strong = headers.get("ETag", "")
        file = RemoteFile(
            path=self.name,
            size=size,
            location=self.url,
            validator=strong if strong.startswith('"') else headers.get("Last-Modified", ""),
            checksum=self.checksum,
            resumes=status == PARTIAL,
        )
        return FileListing((file,))

    @override
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of the file, of the version that was listed."""
        headers = range_header(start, end) if file.resumes else {}
        if file.validator.startswith('"'):
            headers["If-Match"] = file.validator
        with self._asked(headers) as answer:
            if answer.status_code not in {PARTIAL, WHOLE}:
                raise self._refused(answer)
            yield from read_range(answer, self.shown, start, end)

    def _asked(self, headers: dict[str, str]) -> AbstractContextManager[httpx2.Response]:
        return asked(self.client, self.shown, self.url, {**self.headers, **headers})

    def _refused(self, answer: httpx2.Response) -> DownloadFailure:
        if answer.status_code in {401, 403}:
            remedy = "set ACCESS_TOKEN, or HTTP_USERNAME and HTTP_PASSWORD, or sign the URL anew"
            cause = f"the server answered {answer.status_code}: it wants other credentials"
            return DownloadFailure(self.shown, cause, remedy)
        if answer.status_code in {404, 410}:
            return DownloadFailure(
                self.shown, "there is no such file", "see whether the URI is right"
            )
        return refused(answer, self.shown)


def _authorization(settings: InitializerSettings) -> dict[str, str]:
    """The header of who asks: a token, or a user with a password; none for anybody."""
    if token := settings.variable("ACCESS_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    user, password = settings.variable("HTTP_USERNAME"), settings.variable("HTTP_PASSWORD")
    return {"Authorization": f"Basic {basic_user(user, password)}"} if user else {}
