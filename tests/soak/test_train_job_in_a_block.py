"""A program with queues and a TrainJob of 32 nodes: Kueue puts it into one block, and it completes."""

from collections.abc import Callable
from pathlib import Path

from from_source.cluster import kwok
from tests.deploy.project import Stack
from tests.e2e.jobs import eventually
from tests.soak import pool
from tests.soak.pool import BLOCK, Team, job_set, node_labels
from trainer_infra.runs.run import COMPLETE

PROGRAM = """
import pulumi
from trainer_infra import CustomTrainer, TrainJob, platform

def train():
    pass

topology = platform.Topology("pool", levels=[BLOCK, RACK, "kubernetes.io/hostname"])
h100 = platform.ResourceFlavor(
    "h100",
    node_labels=POOL,
    tolerations=[{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}],
    topology_name=topology,
)
vision = platform.ClusterQueue("vision", quota={h100: {GPU: 512}})
team = platform.LocalQueue("team", namespace=NS, cluster_queue=vision)
if WITH_JOB:
    TrainJob(
        "job",
        runtime="torch-distributed",
        namespace=NS,
        name="job",
        trainer=CustomTrainer(train, num_nodes=32, image="example.com/torch", resources_per_node={"gpu": 8}),
        annotations={
            "trainer-infra.dev/scheduler": "kueue",
            "trainer-infra.dev/queue": "team",
            "trainer-infra.dev/required-topology": BLOCK,
        },
        wait_for="running",
        opts=pulumi.ResourceOptions(depends_on=[team]),
    )
"""


def write(stack: Stack, team: Team, *, with_job: bool) -> None:
    head = f"{pool.SETTINGS}NS, WITH_JOB = {team.namespace.name!r}, {with_job}\n"
    (stack.folder / "__main__.py").write_text(head + PROGRAM)


def test_a_train_job_of_32_nodes_runs_in_one_block(
    stack: Stack, nodes: Path, new_team: Callable[[str], Team]
) -> None:
    team = new_team("vision")
    for key, value in {"target": "kubernetes", "kubeconfig": str(nodes)}.items():
        stack.run("config", "set", f"trainer:{key}", value)
    write(stack, team, with_job=False)
    stack.up()
    # One node of a block is taken: of both blocks, only the other has 32 left.
    team.submit(job_set("small", "team", 1))
    (taken,) = team.await_places("small", 1).values()
    write(stack, team, with_job=True)
    stack.up()

    blocks = node_labels(nodes, BLOCK)
    places = team.await_places("job", 32)
    assert len(set(places.values())) == 32
    (used,) = {blocks[each] for each in places.values()}
    assert used != blocks[taken]

    for each in places:
        team.namespace.kubectl("annotate", "pod", each, f"{kwok.COMPLETE}=true")
    done = '{.status.conditions[?(@.type=="Completed")].status}'
    printed = ("get", "jobset", "job", "-o", f"jsonpath={done}")
    eventually(lambda: team.namespace.kubectl(*printed) == "True")
    eventually(lambda: [each["phase"] for each in stack.runs()] == [COMPLETE])
    team.delete("small")
