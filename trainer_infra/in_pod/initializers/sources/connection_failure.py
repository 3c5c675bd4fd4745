"""Why a server was not reached, of the texts of errors of the libraries.

Called by `object_store_failure` and `http_ranges`.
"""

from __future__ import annotations

from trainer_infra.in_pod.initializers.failure import DownloadFailure

DNS = (
    "dns error",
    "failed to lookup address",
    "Name or service not known",
    "Temporary failure in name resolution",
    "No address associated with hostname",
)
CERTIFICATE = (
    "CERTIFICATE_VERIFY_FAILED",
    "InvalidCertificate",
    "certificate verify failed",
    "UnknownIssuer",
)
TLS = (
    "InvalidContentType",
    "InvalidMessage",
    "AlertReceived",
    "WRONG_VERSION_NUMBER",
    "[SSL",
    "record layer failure",
)
REFUSED = ("Connection refused", "ConnectionRefused")
TIME = ("TimedOut", "timed out", "Timeout", "timeout")


def connection_failure(place: str, text: str) -> DownloadFailure:
    """The failure of a connection.

    Args:
        place: what was asked for.
        text: of the error and its causes; nothing of it is shown, for a URL in it may be signed.
    """
    if _has(text, DNS):
        cause = "its server's name cannot be resolved"
        remedy = "see whether the name is right, and whether this pod may use DNS"
        return DownloadFailure(place, cause, remedy, may_pass=True)
    if _has(text, CERTIFICATE):
        return DownloadFailure(
            place,
            "the certificate of its server is not trusted",
            "name a file with the authority's certificate in SSL_CERT_FILE",
        )
    if _has(text, TLS):
        cause = "its server does not speak TLS as we do"
        return DownloadFailure(place, cause, "see whether https:// is right for that port")
    if _has(text, REFUSED):
        cause = "its server refuses connections"
        return DownloadFailure(
            place, cause, "see whether the address is right and it runs", may_pass=True
        )
    if _has(text, TIME):
        cause = "its server does not answer in time"
        return DownloadFailure(place, cause, "see whether this pod may reach it", may_pass=True)
    return DownloadFailure(
        place, "the connection to its server broke", "start again", may_pass=True
    )


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(each in text for each in words)
