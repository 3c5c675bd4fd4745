"""Names of Linux capabilities, as two rules compare them."""

from typing import Final

BASELINE: Final = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
"""What the Pod Security Standards' level baseline lets a container add."""

ALL: Final = "ALL"
"""Stands for every capability."""


def plain_name(name: str) -> str:
    """A capability's name as Kubernetes writes it: without CAP_, in capitals."""
    return name.upper().removeprefix("CAP_")
