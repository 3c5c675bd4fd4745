"""docs/gpu-node-pools.md: ten more lines than docs/platform.md has, and one that names the backend.

tests/soak/test_platform_page.py runs the line of machines that are there on a real cluster.
"""

from typing import Any, get_args

import pytest

from tests.docs.pool_program import LINES, code_lines, platform_blocks, pool_block
from tests.platform.declared_resources import declared_objects
from tests.platform.pools.program import CLUSTERS
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.pools.pool_arguments import Backend

MADE = {
    "cluster_api": "MachineDeployment",
    "gke_compute_class": "ComputeClass",
    "karpenter": "NodePool",
}
"""Kinds of the backends that make machines by an object of Kubernetes."""


def objects_of(backend: str) -> dict[str, JSONObject]:
    made: list[str] = []

    def machines(pool: Any, args: Any) -> list[Any]:
        assert args
        made.append(pool.name)
        return []

    names = {"CLUSTER": CLUSTERS.get(backend), "machines": machines}
    code = compile(pool_block(backend), backend, "exec")
    declared = declared_objects(lambda: exec(code, names))
    assert bool(made) == ("factory=" in LINES[backend])
    return declared


def test_the_page_has_a_line_for_every_backend() -> None:
    assert set(LINES) == set(get_args(Backend))


@pytest.mark.parametrize("backend", LINES)
def test_a_pool_is_ten_lines_and_the_same_on_every_backend(backend: str) -> None:
    installs, trains = platform_blocks()
    assert len(code_lines(installs + trains)) <= 25
    program = pool_block(backend)
    assert len(code_lines(program)) - len(code_lines(installs)) <= 10
    changed = set(code_lines(program)) - set(code_lines(pool_block("existing")))
    assert changed <= {f"    {LINES[backend]}"}


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("backend", LINES)
def test_the_teams_queue_has_the_pools_flavor_on_every_backend(backend: str) -> None:
    made = objects_of(backend)
    (group,) = made["ClusterQueue/vision"]["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    quotas = {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
    assert flavor["name"] == "h100"
    assert quotas["nvidia.com/gpu"] in (16, "16")
    assert {"cpu", "memory"} <= quotas.keys()
    assert made["ResourceFlavor/h100"]["spec"]["nodeLabels"]
    kinds = {each["kind"] for each in made.values()}
    assert kinds & set(MADE.values()) == {MADE[each] for each in MADE if each == backend}
