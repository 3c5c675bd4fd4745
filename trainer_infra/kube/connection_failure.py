"""Why there was no connection, or no whole answer, in words for people. Pure.

The HTTP library's own sentences name objects of Python, and of a certificate they do not say what
to do.
"""

import os
import ssl
from typing import Final

import aiohttp

_UNKNOWN_AUTHORITY: Final = (18, 19, 20, 21, 2)
"""X509_V_ERR_*: self-signed, in a chain or alone; no issuer, no first one, none found."""
_NOT_YET: Final = 9
_EXPIRED: Final = 10
_OTHER_NAME: Final = (62, 63, 64)
"""X509_V_ERR_*: host name, e-mail, IP address mismatch."""


def why_unreachable(error: BaseException) -> str:
    """What aiohttp, the operating system or a time limit raised, in one clause."""
    cause: object = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    found = cause if isinstance(cause, BaseException) else error
    if isinstance(found, ssl.SSLCertVerificationError):
        return _certificate(found)
    if isinstance(found, ssl.SSLError):
        reason = str(found.reason or "").replace("_", " ").lower()
        if reason in {"wrong version number", "http request", "record layer failure"}:
            return "it does not speak TLS; is `https://` right in the kubeconfig's server?"
        if "certificate" in reason:
            return f"it refuses our certificate ({reason}); sign in again"
        return f"TLS fails ({reason or 'no reason is given'})"
    said = _of_http(error) or _of_system(found)
    # A message of the library's is the last resort: one line of it, never an object.
    return (
        said or str(error).partition("<")[0].partition("\n")[0].strip(" :") or "no answer in time"
    )


def is_final(error: BaseException) -> bool:
    """Whether another try would end the same way: the server is the wrong one, or none."""
    wrong = (
        aiohttp.ClientConnectorCertificateError,
        aiohttp.InvalidURL,
        aiohttp.NonHttpUrlClientError,
    )
    return isinstance(error, wrong)


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    code, said = error.verify_code, error.verify_message
    if code in _UNKNOWN_AUTHORITY:
        return (
            f"certificate verify failed, its authority is unknown ({said}); is this the right "
            "server? correct server or certificate-authority in the kubeconfig"
        )
    if code == _EXPIRED:
        return (
            "certificate verify failed, it has expired; renew the server's certificate, or correct "
            "this machine's clock"
        )
    if code == _NOT_YET:
        return "certificate verify failed, it is not valid yet; correct this machine's clock"
    if code in _OTHER_NAME:
        return (
            f"certificate verify failed, it is for another name ({said.rstrip('.')}); correct "
            "server in the kubeconfig, or set tls-server-name to a name that the certificate has"
        )
    return f"certificate verify failed, {said}"


def _of_http(error: BaseException) -> str:
    match error:
        case aiohttp.ClientHttpProxyError():
            said = f"the proxy refuses: {error.status} {error.message}"
        case aiohttp.ClientConnectorDNSError():
            said = f"the name {error.host} is not known ({error.os_error.strerror})"
        case aiohttp.ClientProxyConnectionError():
            where = f"the proxy {error.host}:{error.port}"
            said = f"{where} does not answer ({_of_system(error.os_error)})"
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            said = f"{error} is not the URL of a server; correct server in the kubeconfig"
        case aiohttp.ClientPayloadError():
            said = "the answer broke off, or its compression is broken"
        case aiohttp.ClientResponseError():
            said = f"it does not speak HTTP ({error.message.splitlines()[0].strip(' :')})"
        case aiohttp.ServerDisconnectedError():
            said = "the server ended the connection"
        case _:
            said = ""
    return said


def _of_system(error: BaseException) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number and number > 0 else ""
