"""What an error of `obstore` means.

Its text is the request and the answer, and below them the chain of causes; both may have a
signature in a URL, so nothing of it is shown but codes and the server's own message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.sources.connection_failure import connection_failure

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


def store_failure(error: BaseException, words: StoreWords, file: str = "") -> DownloadFailure:
    """The failure that an error stands for.

    Args:
        error: of obstore, or FileNotFoundError, which it raises too.
        words: of the scheme.
        file: the object in question, if there is one.
    """
    text = str(error)
    status = int((re.findall(r"status(?: code)?: (\d{3})", text) or ["0"])[0])
    code = (re.findall(r"<Code>(\w+)</Code>", text) or [""])[0]
    message = (re.findall(r"<Message>(.*?)</Message>", text, re.DOTALL) or [""])[0].partition("\n")[
        0
    ]
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
