"""A pool of 512 GPUs from one declaration: its nodes, its queue, and a job of 32 nodes in one block.

The declaration says what the nodes are like; kwok plays exactly those. Kueue, JobSet and the scheduler are
the real ones.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import kubectl, kwok
from tests.deploy.project import Stack
from tests.platform.declared_resources import declared_resources
from tests.soak.pool import BLOCK, RACK, Team, job_set
from trainer_infra import platform
from trainer_infra.rules.node_pool import PoolSpec

POOL: Mapping[str, Any] = {
    "backend": "existing",
    "accelerator": "nvidia-h100-80gb",
    "gpus_per_node": 8,
    "nodes": {"max": 64},
    "labels": {"pool": "declared"},
    "taints": [kwok.TAINT],
    "capacity": {"cpu": "96", "memory": "1Ti"},
    "topology": [BLOCK, RACK, "kubernetes.io/hostname"],
    "domain_nodes": {BLOCK: 32, RACK: 16},
}
PROGRAM = f"""
from trainer_infra import platform

pool = platform.GpuNodePool("declared", **{POOL!r})
queue = platform.ClusterQueue("declared", quota=platform.pool_quota(pool))
platform.LocalQueue("declared", namespace=NAMESPACE, cluster_queue=queue)
"""


def spec() -> PoolSpec:
    made: list[platform.GpuNodePool] = []
    declared_resources(lambda: made.append(platform.GpuNodePool("declared", **POOL)))
    return made[0].spec


def nodes_of(pool: PoolSpec) -> Iterable[dict[str, Any]]:
    """The nodes that the pool says, in domains of the sizes that it says."""
    for number in range(pool.max_nodes):
        domains = {
            level: f"{level.rpartition('/')[2]}-{number // size}"
            for level, size in (pool.domain_nodes or {}).items()
        }
        capacity = {key: str(each) for key, each in pool.capacity.items()}
        labels = {**pool.node_labels, **domains}
        yield kwok.node(f"declared-{number:02}", labels, {"pods": "110", **capacity})


@pytest.fixture
def declared_nodes(nodes: Path) -> Iterator[Path]:
    """The cluster while the nodes of the pool are in it."""
    where = ("--kubeconfig", str(nodes))
    items = {"apiVersion": "v1", "kind": "List", "items": list(nodes_of(spec()))}
    kubectl.run(*where, "apply", "--filename", "-", given=json.dumps(items))
    selected = ("nodes", "--selector", "pool=declared")
    kubectl.run(*where, "wait", "--for=condition=Ready", "--timeout=120s", *selected)
    yield nodes
    kubectl.run(*where, "delete", *selected)


def test_a_job_of_32_nodes_is_admitted_to_the_pool_and_runs_in_one_block(
    stack: Stack, declared_nodes: Path, new_team: Callable[[str], Team]
) -> None:
    team = new_team("pool")
    text = f"NAMESPACE = {team.namespace.name!r}\n{PROGRAM}"
    (stack.folder / "__main__.py").write_text(text)
    stack.up()
    stack.unchanged()

    team.submit(job_set("large", "declared", 32, podset_required_topology=BLOCK))
    places = team.await_places("large", 32)
    printed = kubectl.run("--kubeconfig", str(declared_nodes), "get", "nodes", "--output=json")
    blocks = {
        each["metadata"]["name"]: each["metadata"]["labels"].get(BLOCK)
        for each in json.loads(printed)["items"]
    }
    assert len(set(places.values())) == 32
    assert len({blocks[each] for each in places.values()}) == 1
    assert {each[:9] for each in places.values()} == {"declared-"}

    # The other block has room for 32; 33 fit into none, whatever the quota says.
    team.submit(job_set("too-large", "declared", 33, podset_required_topology=BLOCK))
    assert team.await_condition("too-large", "QuotaReserved", "False")["message"]
    team.submit(job_set("second", "declared", 32, podset_required_topology=BLOCK))
    second = team.await_places("second", 32)
    assert set(second.values()).isdisjoint(places.values())
