"""STORAGE_URI, taken apart.

Called by `settings`.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from urllib.parse import parse_qs

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.schemes import SCHEMES

VARIABLE = "STORAGE_URI"
OTHER_NAMES = {
    "abfs": "az",
    "abfss": "az",
    "azure": "az",
    "docker": "oci",
    "gcs": "gs",
    "http": "https",
    "huggingface": "hf",
    "s3a": "s3",
    "s3n": "s3",
    "wasbs": "az",
}
"""What other programs call our schemes."""
SIGNATURES = {"Signature", "X-Amz-Signature", "X-Goog-Signature", "sig"}
"""Parameters of a signed URL: its query changes each time and says nothing about the content."""


@dataclass(frozen=True)
class StorageUri:
    """Where a dataset or a model is: `scheme://authority/path?query#fragment`."""

    scheme: str
    authority: str
    """Bucket, host, claim or organization; may be empty."""
    path: str
    """Without the leading slash; may be empty."""
    query: str = ""
    fragment: str = ""

    @property
    def shown(self) -> str:
        """As logs show it: without user, password and query, which may be secrets."""
        _, _, host = (
            self.authority.rpartition("@") if self.scheme == "https" else ("", "", self.authority)
        )
        slash = "/" if self.path or self.scheme == "file" else ""
        return f"{self.scheme}://{host}{slash}{self.path}"

    @property
    def identity(self) -> str:
        """Equal for equal content, and without secrets."""
        query = "" if SIGNATURES & set(parse_qs(self.query)) else self.query
        digest = f"?{hashlib.sha256(query.encode()).hexdigest()[:12]}" if query else ""
        return f"{self.shown}{digest}{f'#{self.fragment}' if self.fragment else ''}"


def parse_uri(text: str) -> StorageUri:
    """Take a URI apart.

    Raises:
        DownloadFailure: It is unset or malformed, there is no such scheme, or it breaks the scheme's rules.
    """
    known = ", ".join(f"{each}://" for each in SCHEMES)
    if not text.strip():
        raise DownloadFailure(
            VARIABLE, "is not set", f"set it to where the data are, with one of {known}"
        )
    found = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/?(.*)", text.strip(), re.DOTALL)
    if found is None:
        raise DownloadFailure(
            VARIABLE, "is no URI", "write it as scheme://place/path, for example hf://org/name"
        )
    scheme, authority, path = found.groups()
    scheme = scheme.lower()
    if scheme not in SCHEMES:
        close = OTHER_NAMES.get(scheme) or next(
            iter(difflib.get_close_matches(scheme, SCHEMES, 1, 0.5)), ""
        )
        meant = f"did you mean {close}://? " if close else ""
        raise DownloadFailure(
            VARIABLE, f"has the unknown scheme {scheme}://", f"{meant}known are {known}"
        )
    query = fragment = ""
    if scheme == "https":
        path, _, fragment = path.partition("#")
        path, _, query = path.partition("?")
    uri = StorageUri(scheme, authority, path, query, fragment)
    if not authority and scheme != "file":
        raise DownloadFailure(uri.shown, f"names nothing after {scheme}://", _EXAMPLES[scheme])
    for part, pattern, *words in _RULES[scheme]:
        if not re.fullmatch(pattern, getattr(uri, part)):
            raise DownloadFailure(uri.shown, *(each.format(uri=uri) for each in words))
    return uri


_EXAMPLES = {
    "hf": "write hf://ORGANIZATION/NAME, and @REVISION if you want one",
    "s3": "write s3://BUCKET/FOLDER",
    "gs": "write gs://BUCKET/FOLDER",
    "az": "write az://CONTAINER/FOLDER",
    "https": "write https://HOST/FILE",
    "pvc": "write pvc://CLAIM/FOLDER",
    "oci": "write oci://REGISTRY/REPOSITORY:TAG",
}
_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_RULES = {
    "hf": (
        (
            "authority",
            r"[\w.-]+(@.*)?",
            "is no name of a dataset or model",
            "write hf://ORGANIZATION/NAME",
        ),
        (
            "path",
            r"(?s:[\w.-]*(@.*)?(/.*)?)",
            "is no name of a dataset or model",
            "write hf://ORGANIZATION/NAME",
        ),
    ),
    "s3": (),
    "gs": (),
    "az": (),
    "https": (
        ("authority", r"(.*@)?[^\s@]+", "has a host with a space in it", "see whether it is right"),
        (
            "path",
            r"(?s:.*[^/])",
            "names a folder, and a web server has no list of its files",
            "name one file",
        ),
        (
            "fragment",
            r"|(?i:md5=[0-9a-f]{32}|sha1=[0-9a-f]{40}|sha256=[0-9a-f]{64}|sha512=[0-9a-f]{128})",
            "has the fragment #{uri.fragment}, which is no checksum",
            "write #sha256= and 64 hexadecimal digits",
        ),
    ),
    "file": (
        (
            "authority",
            "",
            "names the host {uri.authority}",
            "write file:///{uri.authority}/{uri.path} if you mean a path",
        ),
    ),
    "pvc": (
        (
            "authority",
            rf"{_NAME}([.]{_NAME})*",
            "names no claim",
            "write the claim's name in lower case, with digits and -",
        ),
        (
            "path",
            r"(?s:(?![.][.](?:/|$)).*)",
            "leads out of the claim",
            "write the path below it",
        ),
    ),
    "oci": (
        (
            "path",
            r"[a-z0-9._/-]+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?",
            "is no reference to an image or artifact",
            "write oci://REGISTRY/REPOSITORY:TAG or @sha256:DIGEST, in lower case",
        ),
    ),
}
"""Part of a URI, the pattern that it has, what is wrong where it has not, and what to do: a preview says it, too."""
