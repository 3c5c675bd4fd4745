"""Why an initializer fails, in one sentence, and what is tried again because the reason may pass."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
LONGEST_PAUSE = 16.0
"""Seconds between two attempts."""
CAUSES = (
    (
        (
            "dns error|failed to lookup address|Name or service not known|"
            "Temporary failure in name resolution|No address associated with hostname"
        ),
        "its server's name cannot be resolved",
        "see whether the name is right, and whether this pod may use DNS",
        True,
    ),
    (
        "CERTIFICATE_VERIFY_FAILED|InvalidCertificate|certificate verify failed|UnknownIssuer",
        "the certificate of its server is not trusted",
        "name a file with the authority's certificate in SSL_CERT_FILE",
        False,
    ),
    (
        (
            "InvalidContentType|InvalidMessage|AlertReceived|WRONG_VERSION_NUMBER|"
            r"\[SSL|record layer failure"
        ),
        "its server does not speak TLS as we do",
        "see whether https:// is right for that port",
        False,
    ),
    (
        "TooManyRedirects",
        "its server redirects without an end",
        "see whether the URI is right",
        False,
    ),
    (
        "UnsupportedProtocol",
        "leads to an address that begins with neither https:// nor http://",
        "see whether the URI and the endpoint are right",
        False,
    ),
    (
        "Connection refused|ConnectionRefused",
        "its server refuses connections",
        "see whether the address is right and it runs",
        True,
    ),
    (
        "TimedOut|timed out|[Tt]imeout",
        "its server does not answer in time",
        "see whether this pod may reach it",
        True,
    ),
    ("", "the connection to its server broke", "start again", True),
)
"""What is in texts of errors, what it means, what to do, and whether it may pass; the first that fits counts."""


class DownloadFailure(Exception):
    """Ends an initializer. Never has a secret in it.

    Args:
        place: the URI or the file, as `StorageUri.shown` has it.
        cause: what is wrong, a clause.
        remedy: what to do about it, a clause; may be empty.
        may_pass: whether the same request may succeed a little later.
    """

    def __init__(self, place: str, cause: str, remedy: str = "", *, may_pass: bool = False) -> None:
        self.cause, self.remedy, self.may_pass = cause, remedy, may_pass
        super().__init__(f"{place}: {cause}{f'; {remedy}' if remedy else ''}")


def connection_failure(place: str, text: str) -> DownloadFailure:
    """The failure of a connection, by the text of an error and its causes.

    Nothing of that text is shown, for a URL in it may be signed.
    """
    _, cause, remedy, may_pass = next(each for each in CAUSES if re.search(each[0], text))
    return DownloadFailure(place, cause, remedy, may_pass=may_pass)


def with_attempts(attempts: int, request: Callable[[], Answer]) -> Answer:
    """The answer of a request, which is sent at most so often.

    Raises:
        DownloadFailure: The last attempt failed, or one for a reason that does not pass.
    """
    for tries in range(1, attempts):
        try:
            return request()
        except DownloadFailure as failure:  # noqa: PERF203  a request takes longer
            if not failure.may_pass:
                raise
            time.sleep(pause(tries))
    return request()


def pause(tries: int) -> float:
    """Seconds to wait after so many tries: twice as long each time, and never the same for all."""
    longest = min(LONGEST_PAUSE, 2.0 ** (tries - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311  no secret
