"""A trainer of a package outside ours, with its launcher, as pods."""

import os
from pathlib import Path

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM

ACME = Path(__file__).parents[1] / "plugins" / "acme"
FITTING = """
import sys
sys.path.insert(0, {acme!r})
from acme_trainer import AcmeTrainer
job = TrainJob("line", runtime="plain-distributed", namespace=NS, wait_for="complete",
               trainer=AcmeTrainer(100, workers=2, image=place["image"], resources_per_node={{"cpu": "50m"}}))
pulumi.export("line", job.metrics)
"""


def test_it_trains_under_its_own_launcher(cluster_stack: Stack) -> None:
    cluster_stack.program(PROGRAM + FITTING.format(acme=os.fspath(ACME)))
    cluster_stack.up()
    found = cluster_stack.outputs()["line"]
    assert (found["slope"], found["intercept"], found["workers"]) == (3, 2, 2)
