"""Queues on a pool of 512 GPUs: placement in one block, borrowing, preemption; asserted from the API.

The queues are components of a Pulumi program. kwok plays the nodes, so nothing computes; Kueue, JobSet, the
scheduler and the controllers of Jobs are the real ones.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.deploy.project import Stack
from tests.e2e.jobs import eventually
from tests.soak import pool
from tests.soak.pool import BLOCK, GPUS, Team, job_set, node_labels

PROGRAM = """
from trainer_infra import platform

topology = platform.Topology("pool", levels=[BLOCK, RACK, "kubernetes.io/hostname"])
h100 = platform.ResourceFlavor(
    "h100",
    node_labels=POOL,
    tolerations=[{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}],
    topology_name=topology,
)
org = platform.Cohort("org")
platform.WorkloadPriorityClass("low", value=10)
platform.WorkloadPriorityClass("high", value=1000, description="Before a deadline")
preemption = {"within_cluster_queue": "LowerPriority", "reclaim_within_cohort": "LowerPriority"}
for name, (namespace, nodes, more) in TEAMS.items():
    queue = platform.ClusterQueue(
        name,
        cohort=org,
        quota={h100: {GPU: {"nominal": nodes * 8, "borrowing_limit": more * 8}}},
        preemption=preemption,
    )
    platform.LocalQueue(name, namespace=namespace, cluster_queue=queue)
"""
REQUIRED = {"podset_required_topology": BLOCK}


def up(stack: Stack, **teams: tuple[Team, int, int]) -> None:
    """Make the queues: of each team its nodes, and how many more it may borrow."""
    given = {name: (team.namespace.name, *rest) for name, (team, *rest) in teams.items()}
    text = f"{pool.SETTINGS}TEAMS = {given!r}\n{PROGRAM}"
    (stack.folder / "__main__.py").write_text(text)
    stack.up()
    stack.unchanged()


def usage(team: Team, queue: str) -> dict[str, Any]:
    """What a ClusterQueue uses of GPUs, by its own account."""
    status = json.loads(team.namespace.kubectl("get", "clusterqueue", queue, "-o", "json"))[
        "status"
    ]
    ((resource,),) = (each["resources"] for each in status["flavorsUsage"])
    return {key: int(resource.get(key, 0)) for key in ("borrowed", "total")}


def test_32_nodes_run_in_one_block_one_pod_on_each(
    stack: Stack, nodes: Path, new_team: Callable[[str], Team]
) -> None:
    team = new_team("vision")
    # More quota than there are nodes: only the topology stands in the way.
    up(stack, vision=(team, 100, 0))
    # 8 nodes of one block are taken, so that no 32 are left there.
    team.submit(job_set("first", "vision", 8, **REQUIRED))
    first = team.await_places("first", 8)
    team.submit(job_set("large", "vision", 32, **REQUIRED))
    large = team.await_places("large", 32)

    blocks = node_labels(nodes, BLOCK)
    assert len(set(large.values())) == 32
    (used,) = {blocks[each] for each in large.values()}
    (taken,) = {blocks[each] for each in first.values()}
    assert {used, taken} == {"east", "west"}

    # Together there are 24 free nodes, all of them in the first block; 25 are nowhere.
    team.submit(job_set("too-large", "vision", 25, **REQUIRED))
    said = team.await_condition("too-large", "QuotaReserved", "False")
    assert "topology" in said["message"]
    assert team.places("too-large") == {}
    team.submit(job_set("fits", "vision", 24, **REQUIRED))
    fits = team.await_places("fits", 24)
    assert {blocks[each] for each in fits.values()} == {taken}


def test_a_team_borrows_what_another_does_not_use_and_no_more_than_it_may(
    stack: Stack, new_team: Callable[[str], Team]
) -> None:
    team, other = new_team("vision"), new_team("speech")
    up(stack, vision=(team, 16, 8), speech=(other, 48, 0))
    team.submit(job_set("own", "vision", 16))
    team.await_condition("own", "Admitted")
    eventually(lambda: usage(team, "vision") == {"borrowed": 0, "total": 16 * GPUS})

    team.submit(job_set("more", "vision", 8))
    team.await_places("more", 8)
    eventually(lambda: usage(team, "vision") == {"borrowed": 8 * GPUS, "total": 24 * GPUS})
    team.submit(job_set("too-much", "vision", 1))
    said = team.await_condition("too-much", "QuotaReserved", "False")
    assert "insufficient" in said["message"]

    # It is lent, not given: 40 of the other team's 48 nodes are left.
    other.submit(job_set("all", "speech", 40))
    other.await_places("all", 40)


def test_a_high_priority_takes_back_what_another_team_borrowed(
    stack: Stack, new_team: Callable[[str], Team]
) -> None:
    team, other = new_team("vision"), new_team("speech")
    up(stack, vision=(team, 32, 32), speech=(other, 32, 0))
    team.submit(job_set("own", "vision", 32, "low"))
    team.await_places("own", 32)
    team.submit(job_set("borrows", "vision", 32, "low"))
    team.await_places("borrows", 32)

    other.submit(job_set("same", "speech", 32, "low"))
    other.await_condition("same", "QuotaReserved", "False")
    assert team.holds("borrows", "Admitted")
    other.submit(job_set("urgent", "speech", 32, "high"))
    evicted = team.await_condition("borrows", "Evicted")
    assert evicted["reason"] == "Preempted"
    assert team.condition("borrows", "Preempted")["reason"] == "InCohortReclamation"
    urgent = other.await_places("urgent", 32)
    assert len(set(urgent.values())) == 32
    assert team.holds("own", "Admitted")
    assert other.holds("same", "QuotaReserved", "False")

    # What was stopped waits, and goes on when there is room.
    other.delete("urgent", "same")
    team.await_places("borrows", 32)


def test_a_local_queue_is_moved_to_another_cluster_queue(
    stack: Stack, new_team: Callable[[str], Team]
) -> None:
    team = new_team("vision")
    up(stack, vision=(team, 1, 0), speech=(team, 2, 0))
    text = (stack.folder / "__main__.py").read_text()
    moved = text.replace("cluster_queue=queue", 'cluster_queue="speech"')
    (stack.folder / "__main__.py").write_text(moved)
    assert "+-1 replaced" in stack.up()
    queue = json.loads(team.namespace.kubectl("get", "localqueue", "vision", "-o", "json"))
    assert queue["spec"]["clusterQueue"] == "speech"
    stack.unchanged()
    team.submit(job_set("job", "vision", 2))
    team.await_places("job", 2)
