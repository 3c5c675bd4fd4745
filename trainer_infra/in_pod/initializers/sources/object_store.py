"""Files of an object store: every object below a folder, or one object."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import BaseError
from typing_extensions import override

from trainer_infra.in_pod.initializers.failure import DownloadFailure, connection_failure
from trainer_infra.in_pod.initializers.folder import BLOCK
from trainer_infra.in_pod.initializers.listing import FileListing, FileSource, RemoteFile
from trainer_infra.in_pod.initializers.patterns import wanted_files
from trainer_infra.in_pod.initializers.settings import InitializerSettings

BAD_KEYS = {
    "AuthenticationFailed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "XAdminUserNotFound",
}
"""Codes of S3, of Azure and of versitygw for a key that does not exist or that signs wrongly."""
NO_PLACE = {"ContainerNotFound", "NoSuchBucket"}
METADATA = ("169.254.169.254", "metadata.google.internal", "169.254.170.")
"""Addresses at which clouds hand out credentials."""
ASSUMED = "External AWS credential provider"
"""How obstore calls our function that assumes a role."""
MAY_PASS = {408, 409, 425, 429, 500, 502, 503, 504}
"""Answers that the next request may not get; 409 is what a store says while it moves an object."""


@dataclass(frozen=True)
class StoreWords:
    """How messages about one scheme speak."""

    shown: str
    """The URI."""
    place: str
    """`bucket s3-name`, `container NAME`."""
    credentials: str
    """What to do about credentials that are missing or refused, a clause."""
    deed: str = "read"
    """What is done to objects."""


CONNECT_TIMEOUT = "10s"
READ_TIMEOUT = "30s"
"""Without a byte."""
WHOLE_TIMEOUT = "1h"
"""Of one request, which a byte now and then keeps alive."""


class ObjectStoreSource(FileSource):
    """Objects of a bucket or container; the URI's path is a folder in it, or one object.

    `make` is a class of `obstore`, and `options` are its arguments besides those of connections. With
    `has_md5` an ETag that looks like an MD5 may be one.

    Raises:
        DownloadFailure: The variables with credentials make no sense.
    """

    def __init__(
        self,
        settings: InitializerSettings,
        make: Callable[..., Any],
        words: StoreWords,
        options: Mapping[str, Any],
        *,
        has_md5: bool = False,
    ) -> None:
        self.settings = settings
        self.words = words
        self.has_md5 = has_md5
        connections = {"client_options": client_options(settings), "retry_config": NO_RETRIES}
        try:
            self.store = make(settings.uri.authority, **options, **connections)
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
        wanted, remark = wanted_files(
            self.words.shown, self.settings.patterns, files, lambda each: (each.path, each.location)
        )
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


def store_failure(error: BaseException, words: StoreWords, file: str = "") -> DownloadFailure:
    """The failure that an error of obstore stands for, which raises FileNotFoundError too.

    Its text is the request and the answer, and below them the chain of causes; both may have a
    signature in a URL, so nothing of it is shown but codes and the server's own message.
    """
    text = str(error)
    status = int((re.findall(r"status(?: code)?: (\d{3})", text) or ["0"])[0])
    code = (re.findall(r"<Code>(\w+)</Code>", text) or [""])[0]
    message = (re.findall(r"<Message>([^\n<]*)", text) or [""])[0]
    place = f"{words.shown}: {file}" if file else words.shown
    known = _known_failure(text, status, code, words, place)
    if known:
        return known
    if isinstance(error, FileNotFoundError) or status == 404:  # noqa: PLR2004  HTTP's
        return DownloadFailure(place, "there is no such file", "see whether the URI is right")
    if type(error).__name__ == "PreconditionError" or status == 412:  # noqa: PLR2004  HTTP's
        return DownloadFailure(place, "was changed while it was downloaded", "start again")
    if status:
        said = " ".join(each for each in (str(status), code, message) if each)
        return DownloadFailure(place, f"the server answered {said}", may_pass=status in MAY_PASS)
    if "Http" in text or "HTTP" in text:
        return connection_failure(words.shown, text)
    said = re.sub(r"https?://\S+", "...", text.partition("\n")[0]).partition("error: ")[2]
    return DownloadFailure(place, f"the server's answer makes no sense: {said}")


def _known_failure(
    text: str, status: int, code: str, words: StoreWords, place: str
) -> DownloadFailure | None:
    """Of what has a remedy of its own."""
    if any(each in text.partition("Debug source")[0] for each in METADATA):
        return DownloadFailure(place, "there are no credentials", words.credentials)
    if code in NO_PLACE:
        return DownloadFailure(place, f"there is no {words.place}", "see whether the URI is right")
    if code in BAD_KEYS or status == 401:  # noqa: PLR2004  HTTP's
        said = f" ({code})" if code else ""
        return DownloadFailure(place, f"the credentials are refused{said}", words.credentials)
    if status == 403:  # noqa: PLR2004  HTTP's
        return DownloadFailure(
            place,
            "no permission",
            f"let the account list {words.place} and {words.deed} its objects, or {words.credentials}",
        )
    for sign, cause, remedy in (
        (ASSUMED, "the key may not assume ROLE_ARN", "let it in the role's trust policy"),
        ("redirect without LOCATION", f"{words.place} is in another region", "set REGION to it"),
    ):
        if sign in text:
            return DownloadFailure(place, cause, remedy)
    return None
