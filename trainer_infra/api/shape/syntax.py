"""How names of Kubernetes are written, for the fields that hold one.

Source: k8s.io/apimachinery `pkg/util/validation`.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trainer_infra.api.shape.object_meta import LABEL_PATTERN, SUBDOMAIN_PATTERN, VALUE_PATTERN

_SEARCHED: Final = LABEL_PATTERN.replace("[a-z0-9](", "_?[a-z0-9](", 1).replace("[-a", "[-_a")
_LONGEST_PART: Final = 63
_LONGEST_NAME: Final = 253
_LONGEST_PORT: Final = 15
_LONGEST_DRIVER: Final = 63
_DOTS: Final = ".."
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")


@dataclass(frozen=True, slots=True)
class Syntax:
    """How a text is to be written."""

    words: str
    """The same in words, after `must be`."""
    fits: Callable[[str], bool]
    """Whether a text is written so."""


def _named(words: str, pattern: str, longest: int) -> Syntax:
    whole = re.compile(pattern, re.ASCII)
    return Syntax(words, lambda text: len(text) <= longest and whole.fullmatch(text) is not None)


DNS_LABEL: Final = _named(
    "a DNS label: at most 63 lower-case letters, digits and -", LABEL_PATTERN, _LONGEST_PART
)
DNS_LABEL_1035: Final = _named(
    "a DNS label that begins with a letter: at most 63 lower-case letters, digits and -",
    LABEL_PATTERN.replace("0-9", "", 1),
    _LONGEST_PART,
)
"""A DNS label of RFC 1035."""
DNS_SUBDOMAIN: Final = _named(
    "a DNS subdomain: at most 253 lower-case letters, digits, - and .",
    SUBDOMAIN_PATTERN,
    _LONGEST_NAME,
)
SEARCH_DOMAIN: Final = _named(
    "a DNS subdomain, in which _ may stand, too", rf"{_SEARCHED}(\.{_SEARCHED})*", _LONGEST_NAME
)
LABEL_VALUE: Final = _named(
    "a label's value: at most 63 letters, digits, -, _ and ., a letter or digit at both ends",
    f"({VALUE_PATTERN})?",
    _LONGEST_PART,
)
ENV_NAME: Final = Syntax(
    "printable ASCII without =",
    lambda text: text.isascii() and text.isprintable() and "=" not in text,
)
CONFIG_MAP_KEY: Final = _named(
    "a key: at most 253 letters, digits, -, _ and .", "[-._a-zA-Z0-9]+", _LONGEST_NAME
)
KERNEL_PARAMETER: Final = _named(
    "a kernel parameter: lower-case words of letters, digits, - and _ with . or / between them",
    r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?",
    _LONGEST_NAME,
)
HEADER_NAME: Final = _named("a header's name: letters, digits and -", "[-A-Za-z0-9]+", 1 << 20)
PORT_NAME: Final = _named(
    "a port's name: at most 15 lower-case letters, digits and single -, with a letter",
    r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    _LONGEST_PORT,
)
DOMAIN_PATH: Final = _named(
    "a path after a domain, such as example.com/controller, of at most 63 characters",
    rf"{SUBDOMAIN_PATTERN}/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+",
    _LONGEST_PART,
)
DRIVER_NAME: Final = Syntax(
    "a driver's name: a DNS subdomain of at most 63 characters",
    lambda text: len(text) <= _LONGEST_DRIVER and DNS_SUBDOMAIN.fits(text.lower()),
)


def _is_qualified(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    is_name = len(name) <= _LONGEST_PART and _QUALIFIED_PART.fullmatch(name) is not None
    return is_name and (not slash or DNS_SUBDOMAIN.fits(prefix))


_QUALIFIED_PART: Final = re.compile(VALUE_PATTERN, re.ASCII)
QUALIFIED_NAME: Final = Syntax(
    "a qualified name: at most 63 letters, digits, -, _ and ., after a DNS subdomain and / or alone",
    _is_qualified,
)
ANNOTATION_KEY: Final = Syntax(QUALIFIED_NAME.words, lambda text: _is_qualified(text.lower()))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(_LEADING_ZEROS.sub("", text))
    except ValueError:
        return False
    return "%" not in text


IP_ADDRESS: Final = Syntax("an IP address", _is_address)
PATH_WITHOUT_STEPS_UP: Final = Syntax(
    "a path without ..", lambda text: _DOTS not in text.split("/")
)
RELATIVE_PATH: Final = Syntax(
    "a relative path without ..",
    lambda text: not text.startswith("/") and _DOTS not in text.split("/"),
)
FILE_IN_VOLUME: Final = Syntax(
    "a relative path that does not begin with .. and has none in it",
    lambda text: not text.startswith(("/", _DOTS)) and _DOTS not in text.split("/"),
)
