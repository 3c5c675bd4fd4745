"""Name, labels and taints of the machines."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.catalog.machine_types import HOSTNAME
from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.platform.pools.pool_spec import MOST_TAINTS

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_LONGEST: Final = 63
_KARPENTER_REFUSES: Final = ("kubernetes.io", "k8s.io", "karpenter.sh")
"""Domains whose labels a NodePool cannot set, some well-known ones excepted."""
_KARPENTER_ADMITS: Final = (
    "node.kubernetes.io/windows-build", "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone", "kubernetes.io/arch", "kubernetes.io/os",
    "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type",
)  # fmt: skip


def problems_of_marks(declared: Declaration) -> Iterator[Problem]:
    """Problems of what the machines are known by."""
    if not _NAME.fullmatch(declared.name) or len(declared.name) > _LONGEST:
        what = "must be 1 to 63 of a-z, 0-9 and -, and begin and end with a letter or digit"
        yield Problem("", f"its name {what}: it is a label of its machines", got=declared.name)
    yield from _label_problems(declared)
    yield from _taint_problems(declared)
    if declared.backend == "existing" and not _has_selector(declared):
        what = "is missing: nothing says which machines these are"
        yield Problem("labels", what, fix="say labels that they have, or machine_type=")


def _has_selector(declared: Declaration) -> bool:
    return bool(declared.args.get("labels")) or "machine_type" in declared.args


def _label_problems(declared: Declaration) -> Iterator[Problem]:
    for key, value in declared.args.get("labels", {}).items():
        path = f"labels.{key}"
        if not _KEY.fullmatch(key):
            yield Problem(path, "is no key of a label")
        if not _is_value(value):
            yield Problem(path, "is no value of a label", got=value)
        if key == HOSTNAME and declared.backend != "existing":
            yield Problem(path, "is another of each machine", fix="leave it out")
        if key == names.POOL_LABEL and value != declared.name:
            yield Problem(path, "is the name of the pool", got=value, fix="leave it out")
        if declared.backend == "karpenter" and key != HOSTNAME and _is_refused(key):
            what = "is in a domain that Karpenter lets no NodePool set"
            yield Problem(path, what, fix="use a domain of yours")


def _taint_problems(declared: Declaration) -> Iterator[Problem]:
    taints = declared.args.get("taints", ())
    if len(taints) > MOST_TAINTS:
        what = f"are more than the {MOST_TAINTS} that a ResourceFlavor takes"
        yield Problem("taints", what, got=len(taints))
    for index, each in enumerate(taints):
        yield from _one_taint(f"taints[{index}]", each)
    pairs = Counter((each.get("key"), each.get("effect")) for each in taints)
    for (key, effect), count in pairs.items():
        if count > 1:
            yield Problem("taints", f"has {key} with effect {effect} {count} times")


def _one_taint(path: str, taint: Mapping[str, Any]) -> Iterator[Problem]:
    if not _KEY.fullmatch(str(taint.get("key", ""))):
        yield Problem(f"{path}.key", "is no key of a taint", got=taint.get("key"))
    if not _is_value(str(taint.get("value", ""))):
        yield Problem(f"{path}.value", "is no value of a taint", got=taint["value"])


def _is_value(text: str) -> bool:
    return len(text) <= _LONGEST and _VALUE.fullmatch(text) is not None


def _is_refused(key: str) -> bool:
    domain = key.rpartition("/")[0]
    inside = any(domain == each or domain.endswith(f".{each}") for each in _KARPENTER_REFUSES)
    return inside and key not in _KARPENTER_ADMITS
