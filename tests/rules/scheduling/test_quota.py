"""The most that a ClusterQueue can have, computed by hand from Kueue's rules of cohorts."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.scheduling import quota
from trainer_infra.rules.world import World

GPU = "nvidia.com/gpu"


def member(kind: str, name: str, above: str, nominal: int, **limits: int) -> dict[str, Any]:
    field = "cohortName" if kind == "ClusterQueue" else "parentName"
    resource = {"name": GPU, "nominalQuota": nominal, **limits}
    group = {"coveredResources": [GPU], "flavors": [{"name": "h100", "resources": [resource]}]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {field: above, "namespaceSelector": {}, "resourceGroups": [group]},
    }


def queue(name: str, above: str, nominal: int, **limits: int) -> dict[str, Any]:
    return member("ClusterQueue", name, above, nominal, **limits)


def cohort(name: str, above: str, nominal: int, **limits: int) -> dict[str, Any]:
    return member("Cohort", name, above, nominal, **limits)


def made(*objects: dict[str, Any], is_whole: bool = True) -> World:
    return world.world_of(tree.subjects_of(objects), is_whole=is_whole)


def most(around: World, name: str = "a") -> int | None:
    found = around.get("ClusterQueue", name)
    assert found is not None
    billionths = quota.most(found, "h100", GPU, around)
    return None if billionths is None else billionths // 10**9


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ((queue("a", "", 8),), 8),
        ((queue("a", "all", 8), queue("b", "all", 4)), 12),
        ((queue("a", "all", 8, borrowingLimit=1), queue("b", "all", 4)), 9),
        ((queue("a", "all", 8), queue("b", "all", 4, lendingLimit=3)), 11),
        ((queue("a", "all", 8, lendingLimit=0), queue("b", "all", 4)), 12),
        ((queue("a", "all", 8, lendingLimit=0, borrowingLimit=2), queue("b", "all", 4)), 10),
        ((queue("a", "all", 8), cohort("all", "", 2)), 10),
        ((queue("a", "all", 8), queue("b", "others", 4)), 8),
        ((queue("a", "all", 8), cohort("all", "top", 0), queue("b", "top", 4)), 12),
        (
            (queue("a", "all", 8), cohort("all", "top", 0, borrowingLimit=1), queue("b", "top", 4)),
            9,
        ),
        ((queue("a", "all", 8), cohort("far", "all", 6, lendingLimit=5)), 13),
        ((queue("a", "all", 8), cohort("all", "top", 0), cohort("top", "all", 0)), None),
    ],
)
def test_the_most_of_a_queue(objects: tuple[dict[str, Any], ...], expected: int | None) -> None:
    assert most(made(*objects)) == expected


def test_who_else_is_in_a_cohort_is_not_known_of_a_part_of_the_world() -> None:
    free, bound = queue("a", "all", 8), queue("b", "all", 8, borrowingLimit=4)
    around = made(free, bound, is_whole=False)
    assert (most(around, "a"), most(around, "b")) == (None, 12)


def test_the_older_names_of_fields() -> None:
    old = queue("a", "", 8)
    old["spec"] = {**old["spec"], "cohort": "all"}
    del old["spec"]["cohortName"]
    assert most(made(old, queue("b", "all", 4))) == 12
