"""Which versions of the platform's parts work together, and the way from one set to another. Pure.

What a release was built against is in its Go module's requirements. What neither project tries is here
only where we ran it. A pair that is in no row is not known, and what is not known is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations, count
from typing import Final, Literal, TypeAlias

from trainer_infra.errors import InvalidInput, Problem

Evidence = Literal["requirements", "own run", "issue"]
"""What a verdict is known from: the module requirements of a release, a test of ours on a cluster, an
issue of the project."""
Versions: TypeAlias = Mapping[str, str]
"""Version by project, with or without its v; of Kubernetes and the SDK by their own names."""

PROJECTS: Final = ("Kubernetes", "JobSet", "LeaderWorkerSet", "Trainer", "Kueue", "SDK")
"""In the order in which an upgrade changes them: what others are built on comes first."""


@dataclass(frozen=True, slots=True)
class VersionPair:
    """A minor version of one project beside one of another."""

    first: tuple[str, str]
    """Project and minor version, for example `("Kueue", "0.19")`."""
    second: tuple[str, str]
    works: bool
    evidence: Evidence
    reason: str
    """Where it is known from, as a clause."""


def _built(first: tuple[str, str], *others: tuple[str, str]) -> Iterator[VersionPair]:
    """The pairs of a release with what its module requires."""
    shown = f"{first[0]} {first[1]}"
    for each in others:
        reason = f"the module of {shown} requires {each[0]} {each[1]}"
        yield VersionPair(first, each, works=True, evidence="requirements", reason=reason)


def _ran(first: tuple[str, str], second: tuple[str, str], test: str) -> VersionPair:
    return VersionPair(first, second, works=True, evidence="own run", reason=test)


_PLATFORM_TEST: Final = "tests/e2e/disruptive/test_platform.py runs TrainJobs on the two"

PAIRS: Final = (
    *_built(("Trainer", "2.1"), ("JobSet", "0.10")),
    *_built(("Trainer", "2.2"), ("JobSet", "0.11")),
    *_built(("Trainer", "2.3"), ("JobSet", "0.12")),
    VersionPair(("Trainer", "2.3"), ("LeaderWorkerSet", "0.8"), works=True, evidence="requirements",
                reason="the chart of Trainer 2.3 requires LeaderWorkerSet 0.8"),
    *_built(("Kueue", "0.16"), ("JobSet", "0.10"), ("Trainer", "2.1")),
    *_built(("Kueue", "0.17"), ("JobSet", "0.11"), ("Trainer", "2.2"), ("LeaderWorkerSet", "0.8")),
    *_built(("Kueue", "0.18"), ("JobSet", "0.12"), ("Trainer", "2.2")),
    *_built(("Kueue", "0.19"), ("JobSet", "0.12"), ("Trainer", "2.2"), ("LeaderWorkerSet", "0.9")),
    # Kueue 0.18 and 0.19 require both, and their own tests install both.
    VersionPair(("Trainer", "2.2"), ("JobSet", "0.12"), works=True, evidence="requirements",
                reason="the module of Kueue 0.19 requires the two"),
    _ran(("Kueue", "0.19"), ("Trainer", "2.3"), _PLATFORM_TEST),
    _ran(("Trainer", "2.3"), ("LeaderWorkerSet", "0.9"),
         "tests/soak/test_full_platform.py installs the two; only the data cache of Trainer uses it"),
    VersionPair(("SDK", "0.5"), ("Trainer", "2.3"), works=True, evidence="requirements",
                reason="kubeflow 0.5 requires kubeflow-trainer-api 2.3"),
    *(VersionPair(("Kueue", each), ("Trainer", "2.1"), works=False, evidence="issue",
                  reason="a TrainJob never starts (kubernetes-sigs/kueue#11931)")
      for each in ("0.17", "0.18", "0.19")),
    VersionPair(("Kueue", "0.17"), ("Trainer", "2.3"), works=False, evidence="issue",
                reason="Trainer 2.3 changed its API (kubernetes-sigs/kueue#14504)"),
)  # fmt: skip
"""Every pair of which we know something."""

KUBERNETES: Final[Mapping[tuple[str, str], tuple[int, int]]] = {
    ("JobSet", "0.10"): (31, 34), ("JobSet", "0.11"): (32, 35), ("JobSet", "0.12"): (33, 36),
    ("Kueue", "0.16"): (29, 36), ("Kueue", "0.17"): (29, 36), ("Kueue", "0.18"): (29, 36),
    ("Kueue", "0.19"): (29, 36),
    ("LeaderWorkerSet", "0.8"): (29, 36), ("LeaderWorkerSet", "0.9"): (29, 36),
    ("Trainer", "2.1"): (31, 34), ("Trainer", "2.2"): (32, 35), ("Trainer", "2.3"): (32, 35),
}  # fmt: skip
"""Lowest and highest minor version of Kubernetes 1 that the projects try."""

_UNRELATED: Final = frozenset({
    frozenset({"JobSet", "LeaderWorkerSet"}), frozenset({"SDK", "JobSet"}),
    frozenset({"SDK", "Kueue"}), frozenset({"SDK", "LeaderWorkerSet"}),
})  # fmt: skip
"""Projects that know nothing of one another."""


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One part of the platform that changes."""

    project: str
    before: str
    """Minor version."""
    after: str


UpgradeStep: TypeAlias = tuple[VersionChange, ...]
"""What changes in one `up`, in order."""
_COST: Final = {1: 1, 2: 100}
"""Of a step by the number of parts that change: together only where it must be."""


def version_problems(versions: Versions) -> Sequence[Problem]:
    """Why versions do not work together, a problem for each pair; none where all are known to.

    What they do not name is not judged, nor is `custom`.
    """
    minors = _minors(versions)
    return (*_unknown_versions(minors), *_kubernetes_problems(minors), *_pair_problems(minors))


def upgrade_path(before: Versions, after: Versions) -> Sequence[UpgradeStep]:
    """The way from one set of versions to another, each stop a good set.

    Parts change one by one where that is known to work. Where two know each other only as a pair, they
    change in one `up`.

    Raises:
        InvalidInput: One of the two sets is bad, they are of different projects, or no way is known.
    """
    if problems := [*version_problems(before), *version_problems(after)]:
        raise InvalidInput(problems)
    start, goal = _minors(before), _minors(after)
    if start.keys() != goal.keys():
        what = "must name the same projects as the versions before"
        raise InvalidInput([Problem("after", what, got=sorted(goal), fix=f"name {sorted(start)}")])
    turn = count()
    waiting: list[tuple[int, int, dict[str, str], tuple[UpgradeStep, ...]]] = [(0, 0, start, ())]
    seen: set[tuple[str, ...]] = set()
    while waiting:
        cost, _, here, steps = heappop(waiting)
        if here == goal:
            return steps
        if (key := tuple(here.values())) in seen:
            continue
        seen.add(key)
        for step in _next_steps(here):
            there = here | {each.project: each.after for each in step}
            heappush(waiting, (cost + _COST[len(step)], next(turn), there, (*steps, step)))
    what = "cannot be reached from the versions before by steps that are known to work"
    raise InvalidInput([Problem("after", what, got=dict(after))])


def _next_steps(here: Mapping[str, str]) -> Iterator[UpgradeStep]:
    """What can change next; upwards only, because no project tries a way down."""
    changes = [
        VersionChange(project, here[project], version)
        for project in PROJECTS if project in here
        for version in _known_minors(project) if _number(version) > _number(here[project])
    ]  # fmt: skip
    for size in _COST:
        for step in combinations(changes, size):
            there = {**here, **{each.project: each.after for each in step}}
            if len({each.project for each in step}) == size and not version_problems(there):
                yield step


def _minors(versions: Versions) -> dict[str, str]:
    """Minor versions in the order of `PROJECTS`."""
    return {
        each: ".".join(versions[each].removeprefix("v").split(".")[:2])
        for each in PROJECTS
        if versions.get(each, "custom") != "custom"
    }


def _known_minors(project: str) -> Sequence[str]:
    if project == "Kubernetes":
        bounds = KUBERNETES.values()
        lowest, highest = min(low for low, _ in bounds), max(high for _, high in bounds)
        return [f"1.{each}" for each in range(lowest, highest + 1)]
    named = {version for pair in PAIRS for name, version in (pair.first, pair.second)
             if name == project}  # fmt: skip
    return sorted(named, key=_number)


def _number(minor: str) -> tuple[int, ...]:
    return tuple(int(each) for each in minor.split("."))


def _unknown_versions(minors: Mapping[str, str]) -> Iterator[Problem]:
    for project, version in minors.items():
        known = _known_minors(project)
        if version not in known:
            what = f"is not a version of {project} of which anything is known"
            yield Problem(project, what, got=version, fix=f"use {', '.join(known)}")


def _kubernetes_problems(minors: Mapping[str, str]) -> Iterator[Problem]:
    if minors.get("Kubernetes") not in _known_minors("Kubernetes"):
        return
    minor = _number(minors["Kubernetes"])[1]
    for each in minors.items():
        lowest, highest = KUBERNETES.get(each, (minor, minor))
        if not lowest <= minor <= highest:
            what = f"{each[1]} is tried with Kubernetes 1.{lowest} to 1.{highest}"
            yield Problem(each[0], what, got=f"Kubernetes {minors['Kubernetes']}")


def _pair_problems(minors: Mapping[str, str]) -> Iterator[Problem]:
    parts = [each for each in minors.items() if each[0] != "Kubernetes"]
    for first, second in combinations(parts, 2):
        if frozenset({first[0], second[0]}) in _UNRELATED:
            continue
        if not all(version in _known_minors(name) for name, version in (first, second)):
            continue
        known = _pair(first, second)
        if known is None:
            what = f"{second[1]} was never seen to work with {first[0]} {first[1]}"
            yield Problem(second[0], what, fix=_partners(first, second[0]))
        elif not known.works:
            what = f"{second[1]} does not work with {first[0]} {first[1]}: {known.reason}"
            yield Problem(second[0], what, fix=_partners(first, second[0]))


def _pair(first: tuple[str, str], second: tuple[str, str]) -> VersionPair | None:
    wanted = {first, second}
    return next((each for each in PAIRS if {each.first, each.second} == wanted), None)


def _partners(first: tuple[str, str], project: str) -> str:
    versions = [version for version in _known_minors(project)
                if (pair := _pair(first, (project, version))) and pair.works]  # fmt: skip
    return f"use {project} {' or '.join(versions)} with it" if versions else ""
