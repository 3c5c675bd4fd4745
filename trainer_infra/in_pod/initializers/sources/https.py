"""`https://HOST/FILE`: one file of a web server, also one with a signed URL.

A fragment `#sha256=<hex>` is a checksum, as pip has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from urllib.parse import unquote

import httpx2
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import FileListing, FileSource, RemoteFile
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources import http_ranges


class WebSource(FileSource):
    """A file."""

    def __init__(self, settings: InitializerSettings) -> None:
        uri = settings.uri
        self.shown = uri.shown
        self.url = f"https://{uri.authority}/{uri.path}{f'?{uri.query}' if uri.query else ''}"
        self.name = unquote(uri.path.rpartition("/")[2])
        self.checksum = uri.fragment.replace("=", ":", 1)
        self.headers = _authorization(settings)
        self.client = http_ranges.new_client()

    @override
    def list_files(self) -> FileListing:
        """The one file. A GET of its first byte says more than a HEAD, which signed URLs refuse."""
        with self._asked({"Range": "bytes=0-0"}) as answer:
            status, size = answer.status_code, http_ranges.whole_size(answer)
            if status == 416:  # noqa: PLR2004  HTTP's answer for a file without a byte
                size = 0
            elif status not in {http_ranges.PARTIAL, http_ranges.WHOLE}:
                raise self._refused(answer)
            validator = _validator(answer)
        # Parts of a file about which nothing is known may be of two versions.
        resumes = (
            status == http_ranges.PARTIAL and size is not None and bool(validator or self.checksum)
        )
        file = RemoteFile(
            path=self.name,
            size=size,
            location=self.url,
            validator=validator,
            checksum=self.checksum,
            resumes=resumes,
        )
        return FileListing((file,))

    @override
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of the file; a part is of the version that was listed."""
        headers = http_ranges.range_header(start, end) if file.resumes else {}
        if file.validator.startswith('"'):
            headers["If-Match"] = file.validator
        with self._asked(headers) as answer:
            if answer.status_code not in {http_ranges.PARTIAL, http_ranges.WHOLE}:
                raise self._refused(answer)
            # Not each server knows If-Match, and none has it for what is not a strong ETag.
            is_part = start > 0 or end not in {None, file.size}
            versions = {file.validator, _validator(answer)} if is_part else set()
            sizes = {file.size, http_ranges.whole_size(answer)}
            if len(versions - {""}) > 1 or len(sizes - {None}) > 1:
                raise http_ranges.changed(self.shown)
            yield from http_ranges.read_range(answer, self.shown, start, end)

    def _asked(self, headers: dict[str, str]) -> AbstractContextManager[httpx2.Response]:
        return http_ranges.asked(self.client, self.shown, self.url, {**self.headers, **headers})

    def _refused(self, answer: httpx2.Response) -> DownloadFailure:
        if answer.status_code in {401, 403}:
            remedy = "set ACCESS_TOKEN, or HTTP_USERNAME and HTTP_PASSWORD, or sign the URL anew"
            cause = f"the server answered {answer.status_code}: it wants other credentials"
            return DownloadFailure(self.shown, cause, remedy)
        if answer.status_code in {404, 410}:
            return DownloadFailure(
                self.shown, "there is no such file", "see whether the URI is right"
            )
        return http_ranges.refused(answer, self.shown)


def _validator(answer: httpx2.Response) -> str:
    """What changes when the file does, the more exact one first; empty where the server has none."""
    tag = answer.headers.get("ETag", "")
    return tag if tag.startswith('"') else answer.headers.get("Last-Modified", "") or tag


def _authorization(settings: InitializerSettings) -> dict[str, str]:
    """The header of who asks: a token, or a user with a password; none for anybody."""
    if token := settings.variable("ACCESS_TOKEN"):
        return http_ranges.bearer(token)
    user, password = settings.variable("HTTP_USERNAME"), settings.variable("HTTP_PASSWORD")
    return {"Authorization": f"Basic {http_ranges.basic_user(user, password)}"} if user else {}


open_source = WebSource
