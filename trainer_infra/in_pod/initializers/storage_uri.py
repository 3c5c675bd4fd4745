"""STORAGE_URI, taken apart."""

from __future__ import annotations

import difflib
import hashlib
import posixpath
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

from trainer_infra.in_pod.initializers.failure import DownloadFailure

VARIABLE = "STORAGE_URI"
SCHEMES = ("hf", "s3", "gs", "az", "https", "file", "pvc", "oci")
"""As messages list them; each is a module of `sources`, with a function `open_source`."""
OTHER_NAMES = {
    **dict.fromkeys(("abfs", "abfss", "azure", "wasbs"), "az"),
    **dict.fromkeys(("s3a", "s3n"), "s3"),
    "docker": "oci",
    "gcs": "gs",
    "http": "https",
    "huggingface": "hf",
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


def parse_uri(text: str, kind: str) -> StorageUri:
    """Take a URI of a `dataset`, a `model` or `code` apart.

    The preview asks this function and the pod does, so that both refuse the same.

    Raises:
        DownloadFailure: It is unset or malformed, there is no such scheme, or it breaks the scheme's rules.
    """
    scheme, authority, path = _parts(text.strip())
    scheme = scheme.lower()
    if scheme not in SCHEMES:
        close = OTHER_NAMES.get(scheme) or next(
            iter(difflib.get_close_matches(scheme, SCHEMES, 1, 0.5)), ""
        )
        meant = f"did you mean {close}://? " if close else ""
        raise DownloadFailure(
            VARIABLE, f"has the unknown scheme {scheme}://", f"{meant}known are {_KNOWN}"
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
    if scheme == "hf":
        hub_repository(uri, kind)
    elif scheme == "pvc" and posixpath.normpath(unquote(path)).split("/")[0] == "..":
        raise DownloadFailure(uri.shown, "leads out of the claim", "write the path below it")
    return uri


def _parts(text: str) -> tuple[str, str, str]:
    """Scheme, authority and path."""
    if not text:
        raise DownloadFailure(
            VARIABLE, "is not set", f"set it to where the data are, with one of {_KNOWN}"
        )
    found = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/?(.*)", text, re.DOTALL)
    if found:
        return found[1], found[2], found[3]
    remedy = "write it as scheme://place/path, for example hf://org/name"
    if text.startswith(("/", "./", "../", "~")):
        remedy = f"write file://{text if text[0] == '/' else '/ and the whole path'}"
    raise DownloadFailure(VARIABLE, "is not a URI", remedy)


def hub_repository(uri: StorageUri, kind: str) -> tuple[str, str | None]:
    """Name and revision: of a dataset two segments of the path count, of a model all (reference behaviour 7.1).

    Raises:
        DownloadFailure: There is no name that the Hub can have.
    """
    path = "/".join(each for each in (uri.authority, uri.path.strip("/")) if each)
    name, at, revision = path.partition("@")
    if kind == "dataset":
        name = "/".join(name.split("/")[:2])
    owner, slash, _ = name.partition("/")
    if at and not re.fullmatch(_REVISION, revision):
        cause = f"names the revision {revision!r}" if revision else "names no revision after @"
        raise DownloadFailure(uri.shown, cause, "write a branch, a tag or a commit after @")
    if owner in _OF_WEB_PAGES and slash:
        cause = f"has {owner}/ in it, as web pages have"
        raise DownloadFailure(uri.shown, cause, "write hf://ORGANIZATION/NAME")
    if kind == "dataset" and not slash:
        cause = "names no organization, which each dataset has"
        raise DownloadFailure(uri.shown, cause, "write hf://ORGANIZATION/NAME")
    if not re.fullmatch(_REPOSITORY, name) or "--" in name or ".." in name:
        # What has a colon may be a user and a password.
        what = "has no" if ":" in name else f"{name!r} is not a"
        raise DownloadFailure(uri.shown, f"{what} name of a {kind}", "write hf://ORGANIZATION/NAME")
    if name.endswith(".git"):
        raise DownloadFailure(uri.shown, "ends with .git", f"write hf://{name[:-4]}")
    return name, revision or None


_KNOWN = ", ".join(f"{each}://" for each in SCHEMES)
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
_REPOSITORY = r"(\b[\w.-]+\b/)?\b[\w.-]{1,96}\b"
"""As `huggingface_hub` has it."""
_REVISION = r"(?!/)(?!.*([.][.]|//|@\{))[^\s\\~^:?*\[]+(?<![/.])"
"""As Git has it, of a commit too."""
_OF_WEB_PAGES = {"datasets", "models", "spaces", "huggingface.co", "hf.co"}
_BUCKET = (
    "authority",
    r"\$?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?",
    "has no name that a bucket can have",
)
_RULES = {
    "hf": (),
    "s3": ((*_BUCKET, "write s3://BUCKET/FOLDER, and the server's address in ENDPOINT"),),
    "gs": ((*_BUCKET, "write gs://BUCKET/FOLDER"),),
    "az": (
        (*_BUCKET, "write az://CONTAINER/FOLDER, and the account in AZURE_STORAGE_ACCOUNT_NAME"),
    ),
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
            "has the fragment #{uri.fragment}, which is not a checksum",
            "write #sha256= and 64 hexadecimal digits",
        ),
    ),
    "file": (
        (
            "authority",
            "",
            "names the host {uri.authority}",
            "write file:/// and the whole path; file:///{uri.authority}/{uri.path} is one from the root",
        ),
        (
            "path",
            "(?s:[^~/].*|~[^/].*)",
            "names no folder",
            "write file:/// and the whole path, without ~",
        ),
    ),
    "pvc": (
        (
            "authority",
            rf"{_NAME}([.]{_NAME})*",
            "names no claim",
            "write the claim's name in lower case, with digits and -",
        ),
    ),
    "oci": (
        ("authority", r"[\w.-]+(:[0-9]+)?", "has no host", "write oci://REGISTRY/REPOSITORY:TAG"),
        (
            "path",
            r"[a-z0-9._/-]+(:[\w.-]+)?(@sha256:[0-9a-f]{64})?",
            "is not a reference to an image or artifact",
            "write oci://REGISTRY/REPOSITORY:TAG or @sha256:DIGEST, in lower case",
        ),
    ),
}
"""Part of a URI, the pattern that it has, what is wrong where it has not, and what to do: a preview says it, too."""
