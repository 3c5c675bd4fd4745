"""metadata-address: containers keep away from the address at which a cloud gives out a node's credentials."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity

_IPV4: Final = (
    *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
)
"""AWS, Google, Azure, Oracle, DigitalOcean and OpenStack; AWS' tasks; Alibaba; Azure's host; Oracle's older one."""
_NAMES: Final = (
    *(r"metadata\.google\.internal", r"metadata\.goog(?![\w.])", r"metadata\.tencentyun\.com"),
    *(r"metadata\.azure\.(?:internal|com)", r"instance-data(?:\.[\w-]+)*\.(?:internal|compute)"),
    *(r"//metadata/", r"fd00:ec2:(?:0:)*:?254", r"fd20:ce::254"),
)
_MARKS: Final = (
    *("169", "0xa9", "0251", "28520391", "metadata", "instance-data", "fd00:", "fd20:", "a9fe"),
    *("100.100.100", "1684301000", "0x64", "0144", "168.63", "2822734096", "0xa8", "0250"),
    *("192.0.0.", "3221225664", "0xc0", "0300"),
)
"""Texts without any of these are not searched."""
_PATH: Final = re.compile(r"[^\s\"'`);|]*")
_ABOUT_ALONE: Final = re.compile(
    r".*/(?:placement(?:/.*)?|instance-type|instance-id|ami-id|zone|region|machine-type|hostname|local-ipv4"
    r"|availability-zone|regionInfo|compute/(?:location|zone|vmSize)\S*)/?"
)
"""What says where and on which machine a pod runs, and gives no credential."""
_TOKEN_FIRST: Final = re.compile(r".*/latest/api/token/?")
"""What AWS asks for before any of it."""
_KEPT_OUT: Final = re.compile(
    r"no_?proxy|\bDROP\b|\bREJECT\b|blackhole|\bexcept\b|/32\b|\bdeny\b|^\s*#", re.IGNORECASE
)
"""Lines that keep programs away from it, or do not send it through a proxy."""
_NEAR: Final = 200
"""Characters of a line on each side of an address that are looked at."""
_NO_PROXY: Final = re.compile(r"no_?proxy", re.IGNORECASE)


@cache
def _addresses() -> re.Pattern[str]:
    """Every spelling that a program takes for one of these addresses (inet_aton, RFC 4291)."""
    spelled = [each for address in _IPV4 for each in _spellings(address)]
    return re.compile(
        rf"(?<![\w.])(?:{'|'.join(spelled)})(?![\w])|(?:{'|'.join(_NAMES)})", re.IGNORECASE
    )


def _spellings(address: str) -> Iterator[str]:
    parts = [int(each) for each in address.split(".")]
    whole = int.from_bytes(bytes(parts))
    for count in range(4):
        tail = int.from_bytes(bytes(parts[count:]))
        # Each number as hexadecimal, octal and decimal.
        numbers = (rf"(?:0x0*{each:x}|0+{each:o}|0*{each})" for each in (*parts[:count], tail))
        yield r"\.".join(numbers)
    low = rf"(?:{whole >> 16:x}:0*{whole & 0xFFFF:x}|{re.escape(address)})"
    yield rf"\[?(?:0{{0,4}}:){{1,6}}(?:ffff:)?(?:0:)?{low}\]?"
    yield rf"64:ff9b::{low}"


def _check_address(place: CodeText, _context: Context[Parameters]) -> Iterator[Finding]:
    found = "" if _NO_PROXY.search(place.name) else _reached(place.text)
    if found:
        what = f"reaches the cloud's metadata at {found}, which gives out the node's credentials"
        fix = (
            "use the workload's own identity (a service account with a role), and block the address"
        )
        yield place.value.finding(what, None, fix)


def _reached(text: str) -> str:
    """The address that a text reaches, as it is written; empty for none, and where it asks only for the machine."""
    reached, paths = "", []
    for found in _addresses().finditer(text):
        line = text[max(0, found.start() - _NEAR) : found.start()].rpartition("\n")[2]
        line += text[found.start() : found.end() + _NEAR].partition("\n")[0]
        if not _KEPT_OUT.search(line):
            reached = reached or found[0]
            rest = _PATH.match(text, found.end())
            paths.append(f"/{rest[0] if rest else ''}")
    others = [each for each in paths if not _ABOUT_ALONE.fullmatch(each)]
    only_asks = len(others) < len(paths) and all(map(_TOKEN_FIRST.fullmatch, others))
    return "" if only_asks else reached


RULE: Final = Rule(
    id="metadata-address",
    title="Containers must not reach the cloud's metadata address",
    severity=Severity.MEDIUM,
    kinds=commands.KINDS,
    tags=("pod-security", "commands"),
    frameworks=("owasp-k8s/K08",),
    why=(
        "Whatever runs in the pod, a dependency of the training too, takes the node's credentials from "
        "there, and with them its buckets, its images and often the cluster."
    ),
    fix="Use the workload's own identity, and keep pods away from the address by a NetworkPolicy.",
    places=commands.texts_with(*_MARKS),
    check=_check_address,
)
"""What only says where a pod runs (region, zone, type of machine) is left alone, and so are lists for proxies
and rules of firewalls.
"""
