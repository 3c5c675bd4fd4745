"""Why a server was not reached, of the texts of errors of the libraries."""

from __future__ import annotations

from trainer_infra.in_pod.initializers.failure import DownloadFailure

CAUSES = (
    (
        (
            "dns error",
            "failed to lookup address",
            "Name or service not known",
            "Temporary failure in name resolution",
            "No address associated with hostname",
        ),
        "its server's name cannot be resolved",
        "see whether the name is right, and whether this pod may use DNS",
        True,
    ),
    (
        (
            "CERTIFICATE_VERIFY_FAILED",
            "InvalidCertificate",
            "certificate verify failed",
            "UnknownIssuer",
        ),
        "the certificate of its server is not trusted",
        "name a file with the authority's certificate in SSL_CERT_FILE",
        False,
    ),
    (
        (
            "InvalidContentType",
            "InvalidMessage",
            "AlertReceived",
            "WRONG_VERSION_NUMBER",
            "[SSL",
            "record layer failure",
        ),
        "its server does not speak TLS as we do",
        "see whether https:// is right for that port",
        False,
    ),
    (
        ("TooManyRedirects",),
        "its server redirects without an end",
        "see whether the URI is right",
        False,
    ),
    (
        ("UnsupportedProtocol",),
        "leads to an address that begins with neither https:// nor http://",
        "see whether the URI and the endpoint are right",
        False,
    ),
    (
        ("Connection refused", "ConnectionRefused"),
        "its server refuses connections",
        "see whether the address is right and it runs",
        True,
    ),
    (
        ("TimedOut", "timed out", "Timeout", "timeout"),
        "its server does not answer in time",
        "see whether this pod may reach it",
        True,
    ),
    (("",), "the connection to its server broke", "start again", True),
)
"""Texts of errors, what they mean, what to do, and whether it may pass; the first that fits counts."""


def connection_failure(place: str, text: str) -> DownloadFailure:
    """The failure of a connection.

    Args:
        place: what was asked for.
        text: of the error and its causes; nothing of it is shown, for a URL in it may be signed.
    """
    cause, remedy, may_pass = next(
        (cause, remedy, may_pass)
        for words, cause, remedy, may_pass in CAUSES
        if any(each in text for each in words)
    )
    return DownloadFailure(place, cause, remedy, may_pass=may_pass)
