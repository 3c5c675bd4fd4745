"""Names that Kubernetes takes (RFC 1123), judged where a program gives them."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.errors import Problem

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_SUBDOMAIN_LENGTH: Final = 253
_LABEL_FIX: Final = "write at most 63 lower-case letters, digits and -, the first and last no -"
_SUBDOMAIN_FIX: Final = f"write lower-case letters, digits, - and ., at most {_SUBDOMAIN_LENGTH}"


def label_problems(path: str, value: object) -> Iterator[Problem]:
    """What is wrong with a name that is one DNS label, as that of a namespace."""
    if not (isinstance(value, str) and _LABEL.fullmatch(value)):
        yield Problem(path, "is no name that Kubernetes takes here", got=value, fix=_LABEL_FIX)


def subdomain_problems(path: str, value: object) -> Iterator[Problem]:
    """What is wrong with a name that may have several DNS labels, as that of a Secret."""
    if not (
        isinstance(value, str)
        and len(value) <= _SUBDOMAIN_LENGTH
        and all(map(_LABEL.fullmatch, value.split(".")))
    ):
        yield Problem(path, "is no name that Kubernetes takes here", got=value, fix=_SUBDOMAIN_FIX)
