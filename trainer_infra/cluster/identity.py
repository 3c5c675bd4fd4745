"""Which cluster a run is on: what tells clusters apart, whatever user asks and by whichever address. Pure.

Read by `served`, kept as text in `Run.host`, and so in states. The UID of namespace kube-system is
made once and never again, but not every account may read it. What every account that may submit can
read is ConfigMap `kube-root-ca.crt` of its own namespace: kube-controller-manager writes the
cluster's authorities there (KEP-1205). The server's URL counts only where neither is known.
"""

import base64
import binascii
import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

_CLUSTER: Final = "cluster"
_AUTHORITY: Final = "authority"
_LENGTH: Final = 16
"""Hexadecimal digits of a fingerprint: 64 bits tell the clusters of one user apart."""
_CERTIFICATE: Final = re.compile(
    "-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """What is known of a cluster; all empty is not a cluster."""

    uid: str = ""
    """UID of namespace kube-system; empty where it may not be read."""
    authorities: frozenset[str] = frozenset()
    """Fingerprints of its authorities' certificates; empty where they are not published."""
    server: str = ""
    """URL that it was asked by; empty in an identity that was kept with one of the others."""

    @override
    def __str__(self) -> str:
        parts = [self.uid] if self.uid else []
        if self.authorities:
            parts += [_AUTHORITY, ",".join(sorted(self.authorities))]
        return " ".join((_CLUSTER, *parts)) if parts else self.server

    def same(self, other: "ClusterIdentity") -> bool | None:
        """Whether both are one cluster; None where nothing of them can be compared."""
        if self.uid and other.uid:
            return self.uid == other.uid
        if self.authorities and other.authorities:
            # One of several is enough: authorities are renewed one after the other.
            return not self.authorities.isdisjoint(other.authorities)
        if self.server and other.server:
            return self.server == other.server
        return None


def identity_from_text(text: str) -> ClusterIdentity:
    """The identity that its text says; `cluster <uid>` and a URL are in earlier states."""
    head, *words = text.split()
    if head != _CLUSTER or not words:
        return ClusterIdentity(server=text)
    uid = "" if words[0] == _AUTHORITY else words[0]
    authorities = words[-1].split(",") if _AUTHORITY in words[:-1] else ()
    return ClusterIdentity(uid, frozenset(authorities))


def fingerprints(bundle: str) -> frozenset[str]:
    """Shortened SHA-256 of each certificate in a text of PEM blocks; what is none is left out."""
    found = set()
    for block in _CERTIFICATE.findall(bundle):
        with suppress(binascii.Error):
            content = base64.b64decode("".join(block.split()), validate=True)
            found.add(hashlib.sha256(content).hexdigest()[:_LENGTH])
    return frozenset(found)
