"""Whether a file of a repository has a Secret with what it is to keep: everybody who reads it has that, too.

The rule literal-secrets speaks for it. A stack's own Secrets, a cluster's and those that a tool builds are
none of a file's.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding
from trainer_infra.review.documents import Document
from trainer_infra.review.redaction import decoded_text

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
        if not isinstance(key, str) or not isinstance(each, str) or _OPEN.fullmatch(key):
            continue
        text = (decoded_text(each) if part == "data" else "") or each
        if not _PLACEHOLDER.fullmatch(text.strip()):
            yield key
