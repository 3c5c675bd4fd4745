"""Files of an object store: every object below a folder, or one object."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import BaseError
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.folder import BLOCK
from trainer_infra.in_pod.initializers.listing import (
    FileListing,
    FileSource,
    RemoteFile,
    nothing_wanted,
)
from trainer_infra.in_pod.initializers.settings import InitializerSettings
from trainer_infra.in_pod.initializers.sources.object_store_failure import (
    StoreWords,
    store_failure,
)
from trainer_infra.in_pod.initializers.weights import with_weights

CONNECT_TIMEOUT = "10s"
READ_TIMEOUT = "30s"
"""Without a byte."""
WHOLE_TIMEOUT = "1h"
"""Of one request, which a byte now and then keeps alive."""


class ObjectStoreSource(FileSource):
    """Objects of a bucket or container.

    Args:
        settings: of the download; the URI's path is a folder in the store, or one object.
        make: of `obstore`, makes the store.
        words: for messages.
        has_md5: whether an ETag that looks like an MD5 may be one.

    Raises:
        DownloadFailure: The variables with credentials make no sense.
    """

    def __init__(
        self,
        settings: InitializerSettings,
        make: Callable[[], Any],
        words: StoreWords,
        *,
        has_md5: bool,
    ) -> None:
        self.settings = settings
        self.words = words
        self.has_md5 = has_md5
        try:
            self.store = make()
        except BaseError as error:
            said = str(error).partition("\n")[0].partition("error: ")[2].rstrip(".")
            cause = f"its credentials cannot be used: {said}"
            raise DownloadFailure(words.shown, cause, words.credentials) from None

    @override
    def list_files(self) -> FileListing:
        """Objects below the folder; if there is none, the one of that name."""
        prefix = self.settings.uri.path.strip("/")
        found = self._asked(lambda: [each for page in self.store.list(prefix) for each in page])
        found = [each for each in found if each["path"] != prefix]
        if not found and prefix and not self.settings.uri.path.endswith("/"):
            return FileListing((self._file(prefix.rpartition("/")[2], self._one(prefix)),))
        folders = {
            each["path"][: end.start()] for each in found for end in re.finditer("/", each["path"])
        }
        skipped = len(prefix) + 1 if prefix else 0
        files = [
            self._file(each["path"][skipped:], each)
            for each in found
            # Consoles of clouds make an empty object for a folder.
            if each["size"] or each["path"] not in folders
        ]
        patterns, remark = with_weights(
            self.settings.patterns, [(each.path, each.location) for each in files]
        )
        wanted = [each for each in files if patterns.admits(each.path, each.location)]
        if files and not wanted:
            raise nothing_wanted(self.words.shown, len(files), patterns.shown)
        return FileListing(tuple(sorted(wanted, key=lambda each: each.path)), remark=remark)

    @override
    def read(self, file: RemoteFile, start: int, end: int | None) -> Iterator[bytes]:
        """Bytes of an object, of the version that was listed."""
        options: dict[str, Any] = {"range": (start, end)}
        if file.validator.startswith('"'):
            options["if_match"] = file.validator
        try:
            yield from obstore.get(self.store, file.location, options=options).stream(BLOCK)  # type: ignore[arg-type]
        except (BaseError, FileNotFoundError) as error:
            raise store_failure(error, self.words, file.path) from None

    def _one(self, path: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self._asked(lambda: self.store.head(path))
        except DownloadFailure as failure:
            if failure.may_pass or "no such file" not in str(failure):
                raise
            cause = f"there is no folder and no file of that name in {self.words.place}"
            raise DownloadFailure(self.words.shown, cause, "see whether the URI is right") from None
        return found

    def _asked(self, request: Any) -> Any:
        try:
            return request()
        except (BaseError, FileNotFoundError) as error:
            raise store_failure(error, self.words) from None

    def _file(self, path: str, found: Mapping[str, Any]) -> RemoteFile:
        tag = found["e_tag"] or ""
        is_md5 = self.has_md5 and re.fullmatch('"[0-9a-f]{32}"', tag)
        return RemoteFile(
            path=path,
            size=found["size"],
            location=found["path"],
            validator=tag or found["last_modified"].isoformat(),
            checksum=f"md5:{tag[1:-1]}" if is_md5 else "",
        )


def client_options(settings: InitializerSettings) -> dict[str, Any]:
    """Timeouts of connections, and the authorities that are trusted.

    Raises:
        DownloadFailure: The file of SSL_CERT_FILE cannot be read.
    """
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT,
        "read_timeout": READ_TIMEOUT,
        "timeout": WHOLE_TIMEOUT,
        "allow_http": settings.endpoint.startswith("http://"),
    }
    path = settings.variable("SSL_CERT_FILE")
    if path:
        try:
            options["root_certificate"] = Path(path).read_bytes()
        except OSError as error:
            cause = f"names {path}, which cannot be read: {os.strerror(error.errno or 0)}"
            raise DownloadFailure("SSL_CERT_FILE", cause) from None
    return options


NO_RETRIES = {"max_retries": 0}
"""Of obstore: `download` resumes where a connection broke, and counts the attempts."""
