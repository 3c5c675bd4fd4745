"""Whether a file of a repository has a Secret with what it is to keep: everybody who reads it has that, too.

The rule literal-secrets speaks for it. A stack's own Secrets, a cluster's and those that a tool builds are
none of a file's.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding
from trainer_infra.review.documents import Document

KIND: Final = "Secret"
_PARTS: Final = ("data", "stringData")
_OPEN: Final = re.compile(
    r"(?:.*\.)?(?:crt|pub|user|username|namespace|host|hostname|port|region|type)", re.IGNORECASE
)
"""Keys of what is no secret: certificates, public keys, names."""
_PLACEHOLDER: Final = re.compile(
    r"|[<{$\[%].*|(?:replace|change|your|insert|todo|placeholder|example|redacted|dummy).*|(.)\1*",
    re.IGNORECASE | re.DOTALL,
)
"""What you or a tool fills in later."""
_FIX: Final = (
    "take it out and revoke it; make the Secret outside of the repository, or keep it encrypted as a "
    "SealedSecret, an ExternalSecret or with SOPS"
)


def plain_secret_findings(document: Document) -> Iterator[FieldFinding]:
    """One for a Secret that a file has whole."""
    value = document.value
    is_secret = value.get("kind") == KIND and value.get("apiVersion") == "v1"
    if not is_secret or not document.is_editable or "sops" in value:
        return
    kept = [(part, key) for part in _PARTS for key in _kept(part, value.get(part))]
    if kept:
        more = f", as {len(kept) - 1} more" if kept[1:] else ""
        what = f"is a secret that everybody can use who reads this file{more}"
        yield FieldFinding(kept[0], what, fix=_FIX)


def _kept(part: str, content: Any) -> Iterator[str]:
    """Keys under which something stands that is to be kept."""
    for key, each in content.items() if isinstance(content, Mapping) else ():
        text = _decoded(each) if part == "data" else each
        is_open = not isinstance(key, str) or _OPEN.fullmatch(key)
        if isinstance(text, str) and not is_open and not _PLACEHOLDER.fullmatch(text.strip()):
            yield key


def _decoded(value: Any) -> Any:
    """What base64 stands for; the text itself where it is none, or stands for no text."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, TypeError, ValueError):
        return value
