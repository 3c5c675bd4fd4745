"""`packages`: pinned requirements of the job's Python. Called by `custom`; pure."""

import re
from collections.abc import Iterator, Sequence

from trainer_infra.errors import Problem

PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)(\[[-._A-Za-z0-9,]+\])?==[A-Za-z0-9.!+_-]+"
)


def locked(packages: Sequence[str]) -> tuple[str, ...]:
    """The requirements, sorted, each once."""
    return tuple(sorted(set(packages)))


def problems(packages: Sequence[str]) -> Iterator[Problem]:
    """Requirements without an exact version, and two versions of one package."""
    first: dict[str, str] = {}
    for index, package in enumerate(packages):
        match = PINNED.fullmatch(package) if isinstance(package, str) else None
        path = f"packages[{index}]"
        if match is None:
            what = "has no exact version, so the same job could train with other code"
            fix = 'write name==version, for example "jax[cpu]==0.9.0"'
            yield Problem(path, what, got=package, fix=fix)
            continue
        name = re.sub("[-_.]+", "-", match["name"]).lower()
        if first.setdefault(name, package) != package:
            yield Problem(path, f"differs from {first[name]!r} above", got=package, fix="keep one")
